import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from rigs.babble import RATE_HZ
from rigs.encoded import encoded
from rigs.http_recognizer import http_recognizer
from rigs.recognizer import AUDIO, SPEECH
from rigs.slots import until_free, until_taken
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from services.recognizer import engine as engine_module
from sonorant.serving.session import Session, SessionOptions

CHUNKS = [AUDIO[at : at + 1600] for at in range(0, len(AUDIO), 1600)]
CLOSE = json.dumps({"type": "CloseStream"})


@pytest.fixture(scope="module")
def heard(store):
    session = Session(store.get(), SessionOptions())
    session.push(AUDIO)
    return session.finish()[-1].alternatives[0]


@asynccontextmanager
async def opened(store, query="", **limits):
    async with (
        http_recognizer(store, **limits) as (engine, address),
        connect(f"ws://{address}/v1/stream{query}") as call,
    ):
        yield engine, call


def told(store, *messages, query="", **limits):
    """What a client reads that sends `messages`, and the code with which its socket is closed."""

    async def run():
        async with opened(store, query, **limits) as (engine, call):
            for message in messages:
                await call.send(message)
            read = []
            try:
                while True:
                    read.append(json.loads(await call.recv()))
            except ConnectionClosed as closed:
                code = closed.rcvd.code
            await until_free(engine)
            return read, code

    return asyncio.run(run())


def test_a_handshake_at_another_path_is_not_found_and_the_path_is_said(store):
    async def run():
        async with http_recognizer(store) as (_, address):
            with pytest.raises(InvalidStatus) as refusal:
                await connect(f"ws://{address}/stream")
            return refusal.value.response

    response = asyncio.run(run())
    assert response.status_code == 404
    assert json.loads(response.body)["error"]["message"] == "/stream: no WebSocket there; it is /v1/stream"


def test_a_stream_has_interim_results_and_a_final_one(store, heard):
    read, code = told(store, *CHUNKS, CLOSE, query="?interim_results=true&words=true&sample_rate=8000")
    ready, *results, final, closed = read
    assert ready == {"type": "Ready", "model": "babble/1", "sample_rate": RATE_HZ, "max_s": 300.0}
    assert len(results) > 3
    assert not any(result["is_final"] for result in results)
    (best,) = final["alternatives"]
    assert (final["is_final"], final["end_s"], best["transcript"]) == (True, 2.0, heard.text)
    assert [(word["word"], word["end_s"]) for word in best["words"]] == [(w.word, w.end_s) for w in heard.words]
    assert (closed["type"], closed["audio_s"], code) == ("Closed", 2.0, 1000)


def test_a_parameter_that_is_in_the_query_twice_is_refused(store):
    (error,), code = told(store, CLOSE, query="?model=babble&model=other")
    assert (error["code"], code) == ("INVALID_ARGUMENT", 4400)
    assert error["message"] == "model: twice in the query; expected one"


def test_a_first_message_may_configure_a_container(store, heard):
    file = encoded("FLAC", SPEECH, RATE_HZ)
    config = json.dumps({"type": "Configure", "encoding": "auto", "alternatives": 3, "model": "babble"})
    read, _ = told(store, config, file[:500], file[500:], CLOSE)
    assert len(read[1]["alternatives"]) == 3
    assert read[1]["alternatives"][0]["transcript"] == heard.text
    assert "words" not in read[1]["alternatives"][0]


def test_a_configured_stream_is_ready_before_its_audio(store, heard):
    async def run():
        async with opened(store) as (_, call):
            await call.send('{"type": "Configure", "sample_rate": 8000}')
            ready = json.loads(await call.recv())
            await call.send(AUDIO)
            await call.send(CLOSE)
            return [ready, *[json.loads(message) async for message in call]]

    ready, final, _ = asyncio.run(run())
    assert (ready["type"], ready["sample_rate"]) == ("Ready", RATE_HZ)
    assert final["alternatives"][0]["transcript"] == heard.text


@pytest.mark.parametrize(
    ("config", "code"), [({"bogus": 1}, 4400), ({"model": "bubble"}, 4404), ({"channels": 99}, 4400)]
)
def test_a_wrong_configuration_is_refused_before_its_audio(store, config, code):
    read, closed = told(store, json.dumps({"type": "Configure"} | config))
    assert ([message["type"] for message in read], closed) == (["Error"], code)


def test_finalize_ends_an_utterance_and_the_stream_goes_on(store, heard):
    finalize = json.dumps({"type": "Finalize"})
    read, _ = told(store, AUDIO, finalize, AUDIO, CLOSE, query="?words=true")
    first, second = read[1:3]
    assert (first["from_finalize"], first["end_s"], second["end_s"]) == (True, 2.0, 4.0)
    for result, offset_s in ((first, 0.0), (second, 2.0)):
        (best,) = result["alternatives"]
        assert best["transcript"] == heard.text
        assert best["words"][0]["start_s"] == pytest.approx(offset_s + heard.words[0].start_s)
    assert read[-1]["audio_s"] == 4.0


def test_channels_apart_have_results_each_with_its_index(store, heard):
    stereo = b"".join(AUDIO[at : at + 2] + bytes(2) for at in range(0, len(AUDIO), 2))
    read, code = told(store, stereo, CLOSE, query="?multichannel=true&channels=2")
    assert [(one["channel_index"], one["alternatives"][0]["transcript"]) for one in read[1:-1]] == [
        ([0, 2], heard.text),
        ([1, 2], ""),
    ]
    assert (read[-1]["type"], code) == ("Closed", 1000)
    assert "channel_index" not in told(store, AUDIO, CLOSE)[0][1]


def test_the_limit_is_that_of_the_whole_stream(store):
    finalize = json.dumps({"type": "Finalize"})
    read, code = told(store, AUDIO, finalize, AUDIO, CLOSE, max_stream_seconds=3.0)
    assert [message["type"] for message in read] == ["Ready", "Results", "Results", "Error"]
    assert read[2]["is_final"]
    assert 2.0 < read[2]["end_s"] == read[2]["resume_s"] < 3.0
    assert (read[-1]["code"], code) == ("OUT_OF_RANGE", 4413)
    assert "a stream may have 3 s" in read[-1]["message"]


@pytest.mark.parametrize(
    ("messages", "query", "code", "reason"),
    [
        (["these are words"], "", 4400, "begins with 'these are words': expected a JSON object; audio is binary"),
        (["[" * 50_000], "", 4400, "expected a JSON object"),
        ([" " * 70_000], "", 4400, "70000 characters"),
        (['"text"'], "", 4400, "expected a JSON object"),
        ([AUDIO, '{"type": "Louder"}'], "", 4400, "type 'Louder': expected KeepAlive, Finalize, CloseStream"),
        ([AUDIO, '{"type": "Configure"}'], "", 4400, "as the first one"),
        ([b"odd"], "", 4400, "3 bytes of audio"),
        ([AUDIO], "?model=bubble", 4404, "served are: babble"),
        ([AUDIO], "?sample_rate=fast", 4400, "sample_rate=fast: expected a whole number"),
        ([AUDIO], "?sample_rate=768000", 4400, "sample_rate_hertz=768000"),
        ([AUDIO], "?loud=true", 4400, "loud: unknown; expected any of model"),
        (['{"type": "Configure", "words": 3}'], "", 4400, "words=3: expected true or false"),
        (['{"type": "Configure", "encoding": 16}'], "", 4400, "encoding=16: expected a text"),
        ([b"what is this"], "?encoding=AUTO", 4400, "no WAV, FLAC, MP3"),
        ([r'{"type": "Configure", "\ud800": 1}'], "", 4400, r"with a lone surrogate, \ud800: expected Unicode text"),
        ([r'{"type": "Configure", "words": "\ud800"}'], "", 4400, "lone surrogate"),
        ([r'{"type": "Configure", "encoding": ["\uDC00\uD800"]}'], "", 4400, r"lone surrogate, \udc00"),
        ([AUDIO, r'{"type": "\udfff"}'], "", 4400, "lone surrogate"),
        ([r'{"type": "Configure", "model": "\ud83d\ude00"}'], "", 4404, "model '\U0001f600': not served"),
    ],
)
def test_what_a_client_may_not_send_is_named_and_closes_the_stream(store, messages, query, code, reason):
    read, closed = told(store, *messages, CLOSE, query=query)
    assert (read[-1]["type"], closed) == ("Error", code)
    assert reason in read[-1]["message"]


def test_an_idle_stream_has_its_result_and_is_ended(store, heard):
    read, code = told(store, AUDIO, idle_timeout_s=1.0)
    assert read[1]["alternatives"][0]["transcript"] == heard.text
    assert (read[-1]["code"], code) == ("DEADLINE_EXCEEDED", 4408)


def test_keep_alive_is_a_sign_of_life(store, heard):
    async def run():
        async with opened(store, idle_timeout_s=1.0) as (_, call):
            for _ in range(15):
                await call.send('{"type": "KeepAlive"}')
                await asyncio.sleep(0.1)
            await call.send(AUDIO)
            await call.send(CLOSE)
            return [json.loads(message) async for message in call]

    assert asyncio.run(run())[1]["alternatives"][0]["transcript"] == heard.text


def test_a_full_recognizer_says_so(store):
    async def run():
        async with http_recognizer(store, max_streams=1) as (engine, address):
            with engine.admission.slot():
                async with connect(f"ws://{address}/v1/stream") as call:
                    read = json.loads(await call.recv())
                    await call.wait_closed()
                    return read, call.close_code

    read, code = asyncio.run(run())
    assert (read["code"], read["retry_after_s"], code) == ("RESOURCE_EXHAUSTED", 10.0, 4429)


def test_a_client_that_vanishes_gives_its_slot_back(store):
    async def run():
        async with opened(store) as (engine, call):
            await call.send(AUDIO)
            await until_taken(engine)
            call.transport.abort()
            await until_free(engine)

    asyncio.run(run())


def test_a_drain_ends_a_stream_with_its_result(store, heard):
    async def run():
        async with opened(store) as (engine, call):
            await call.send(AUDIO)
            await call.recv()
            engine.end_streams()
            return [json.loads(message) async for message in _until_closed(call)]

    final, error = asyncio.run(run())
    *whole, last = heard.words
    assert final["alternatives"][0]["transcript"].split() == [word.word for word in whole]
    assert final["end_s"] == final["resume_s"] == pytest.approx(last.start_s, abs=0.1 + 1e-6)
    assert (error["code"], error["retry_after_s"]) == ("UNAVAILABLE", 1.0)


async def _until_closed(call):
    try:
        while True:
            yield await call.recv()
    except ConnectionClosed:
        return


def test_finalize_in_silence_tells_of_it_and_keeps_what_may_be_the_beginning_of_a_word(store):
    finalize = json.dumps({"type": "Finalize"})
    (*_, whole, _), _ = told(store, bytes(RATE_HZ), *CHUNKS, CLOSE)
    heard = whole["alternatives"][0]["transcript"]
    assert heard
    read, _ = told(store, bytes(RATE_HZ), finalize, CHUNKS[0], finalize, *CHUNKS[1:], CLOSE)
    finals = [result for result in read if result["type"] == "Results"]
    assert [result["alternatives"][0]["transcript"] for result in finals] == ["", "", heard]
    assert [result.get("from_finalize", False) for result in finals] == [True, True, False]
    assert [(result["start_s"], result["end_s"]) for result in finals[:2]] == [(0.0, 0.5), (0.5, 0.5)]


def test_messages_are_not_inflated(store):
    async def run():
        async with opened(store) as (_, call):
            return call.protocol.extensions

    assert asyncio.run(run()) == []


def test_a_fault_of_the_recognizer_is_named_without_its_text(store, monkeypatch):
    def fail(*_):
        raise ValueError("a secret")

    monkeypatch.setattr(Session, "push_steps", fail)
    read, code = told(store, AUDIO, CLOSE)
    assert (read[-1]["code"], code) == ("INTERNAL", 4500)
    assert "secret" not in str(read)


@pytest.mark.parametrize(("read_s", "idle_s"), [(10.0, 1.0), (0.5, 3600.0)])
def test_a_client_that_reads_nothing_gives_its_slot_back(store, monkeypatch, read_s, idle_s):
    monkeypatch.setattr(engine_module, "_READ_S", read_s)

    async def run():
        async with opened(store, "?interim_results=true", idle_timeout_s=idle_s) as (engine, call):
            await call.send(CHUNKS[0])
            assert json.loads(await call.recv())["type"] == "Ready"
            assert engine.admission.active == 1
            monkeypatch.setattr(WebSocket, "send_json", lambda *_: asyncio.Event().wait())
            for chunk in CHUNKS[1:]:
                await call.send(chunk)
            await until_free(engine)

    asyncio.run(run())
