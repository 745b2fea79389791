import asyncio
import re
import zlib

import httpx2 as httpx
import openai
import pytest
from rigs.babble import RATE_HZ, export_babble
from rigs.encoded import encoded
from rigs.http_recognizer import http_recognizer
from rigs.openai_client import PLAIN, WAV, asked, transcribed
from rigs.recognizer import AUDIO, SPEECH
from rigs.slots import until_free, until_taken

from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Session, SessionOptions

FLAC = encoded("FLAC", SPEECH, RATE_HZ)
URL = "/v1/audio/transcriptions"


@pytest.fixture(scope="module")
def heard(store):
    session = Session(store.get(), SessionOptions())
    session.push(AUDIO)
    return session.finish()[-1].alternatives[0]


def test_openais_client_gets_the_transcript_of_a_recording(store, heard):
    answer = transcribed(store, file=("speech.flac", FLAC), temperature=0)
    assert answer.text == heard.text
    assert answer.usage.seconds == 2.0
    assert len(heard.words) > 3


def test_verbose_json_has_words_and_segments(store, heard):
    answer = transcribed(store, response_format="verbose_json", timestamp_granularities=["word", "segment"])
    assert [(word.word, word.start, word.end) for word in answer.words] == [
        (word.word, word.start_s, word.end_s) for word in heard.words
    ]
    (segment,) = answer.segments
    assert (segment.text, segment.start, segment.end) == (heard.text, heard.words[0].start_s, heard.words[-1].end_s)
    assert (answer.text, answer.duration) == (heard.text, 2.0)


def test_a_segment_has_every_field_of_openais_form(store, heard):
    (segment,) = transcribed(store, response_format="verbose_json").segments
    assert set(openai.types.audio.TranscriptionSegment.model_fields) <= segment.model_fields_set
    written = heard.text.encode()
    assert segment.compression_ratio == len(written) / len(zlib.compress(written))


def test_text_and_captions_have_the_words(store, heard):
    assert transcribed(store, response_format="text") == heard.text + "\n"
    srt = transcribed(store, response_format="srt")
    assert srt.startswith("1\n00:00:0")
    vtt = transcribed(store, response_format="vtt")
    assert vtt.startswith("WEBVTT\n\n00:00:0")
    for captions in (srt, vtt):
        lines = [line for line in captions.splitlines() if line and not re.search(r"-->|^\d+$|^WEBVTT", line)]
        assert " ".join(lines) == heard.text


@pytest.mark.parametrize("response_format", ["srt", "vtt"])
def test_captions_end_with_the_recording(store, response_format):
    file = ("short.wav", encoded("WAV", SPEECH[:5120], RATE_HZ))
    captions = transcribed(store, file, response_format=response_format)
    assert re.findall(r"--> 00:00:0(\S+)", captions.replace(",", "."))[-1:] == ["0.640"]


def test_words_are_computed_where_they_are_sent_alone(store, words_of_recordings):
    for response_format in ("json", "text", "srt", "vtt", "verbose_json"):
        transcribed(store, response_format=response_format)
    assert list(map(bool, words_of_recordings)) == [False, False, True, True, True]


def test_a_streamed_answer_has_deltas_and_the_whole_text(store, heard):
    async def ask(client):
        stream = await client.audio.transcriptions.create(file=("a.wav", WAV), model="babble", stream=True)
        return [event async for event in stream]

    events = asked(store, ask)
    assert {event.type for event in events[:-1]} == {"transcript.text.delta"}
    assert "".join(event.delta for event in events[:-1]) == heard.text
    assert (events[-1].type, events[-1].text) == ("transcript.text.done", heard.text)


def test_models_are_listed_and_shown(store):
    async def ask(client):
        named = [(await client.models.retrieve(name)).id for name in ("babble", "babble@1", "babble/1")]
        return [model.id async for model in client.models.list()], named

    assert asked(store, ask) == (["babble"], ["babble", "babble@1", "babble/1"])


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"model": "whisper-1"}, openai.NotFoundError, "served are: babble"),
        ({"prompt": "names"}, openai.BadRequestError, "prompt: not supported"),
        ({"temperature": 0.5}, openai.BadRequestError, "temperature=0.5"),
        ({"response_format": "xml"}, openai.BadRequestError, "response_format=xml: expected json"),
        ({"timestamp_granularities": ["word"]}, openai.BadRequestError, "with response_format=json"),
        ({"include": ["logprobs"]}, openai.BadRequestError, "include: not supported"),
        ({"file": ("a.wav", b"")}, openai.BadRequestError, "file: 0 bytes: expected a recording"),
        ({"file": ("a.wav", WAV[:30])}, openai.BadRequestError, "cut off in its header"),
        ({"file": ("a.wav", b"these are words")}, openai.BadRequestError, "no WAV, FLAC, MP3"),
        ({"stream": True, "response_format": "srt"}, openai.BadRequestError, "stream=true with response_format=srt"),
    ],
)
def test_what_is_wrong_or_not_supported_is_named(store, options, error, reason):
    async def ask(client):
        with pytest.raises(error, match=reason) as caught:
            await client.audio.transcriptions.create(**{"file": ("a.wav", WAV), "model": "babble", **options})
        return caught.value

    assert asked(store, ask).type == "invalid_request_error"


@pytest.fixture(scope="module")
def english(store, tmp_path_factory):
    """A model whose recipe names its language."""

    def load(folder):
        model = load_exported(folder)
        text = model.recipe.text.model_copy(update={"language": "en"})
        model.recipe = model.recipe.model_copy(update={"text": text})
        return model

    exports = tmp_path_factory.mktemp("english")
    export_babble(exports)
    store = ModelStore(exports, load)
    store.refresh()
    return store


def test_a_model_without_a_language_takes_any_and_one_with_it_its_own(store, english, heard):
    for model, language in ((store, "fr"), (english, "en"), (english, "en-US")):
        answer = transcribed(model, response_format="verbose_json", language=language)
        assert answer.text == heard.text
        assert answer.language == ("en" if model is english else language)
    with pytest.raises(openai.BadRequestError, match="language=fr: model 'babble' is of en") as caught:
        transcribed(english, language="fr")
    assert (caught.value.type, caught.value.param) == ("invalid_request_error", "language")


def test_an_empty_field_is_as_none(store, heard):
    assert transcribed(store, prompt="", language="").text == heard.text
    assert transcribed(store, timestamp_granularities=[""]).text == heard.text


def posted(store, *, limits=None, occupy=False, **request):
    """Status, headers and error of a request to the transcriptions by another client."""

    async def run():
        async with http_recognizer(store, **(limits or {})) as (engine, address):
            async with httpx.AsyncClient(verify=PLAIN) as client:
                if occupy:
                    with engine.admission.slot():
                        answer = await client.post(f"http://{address}{URL}", **request)
                else:
                    answer = await client.post(f"http://{address}{URL}", **request)
            await until_free(engine)
            return answer.status_code, answer.headers, answer.json()["error"]

    return asyncio.run(run())


def test_a_body_that_is_no_form_is_an_unsupported_type(store):
    status, _, error = posted(store, json={"file": "a.wav"})
    assert (status, error["type"]) == (415, "invalid_request_error")


def test_an_upload_beyond_the_limit_is_too_large_with_and_without_a_length(store):
    async def chunks():
        for _ in range(20):
            yield bytes(2**16)

    form = {"Content-Type": "multipart/form-data; boundary=x"}
    limits = {"max_message_mb": 0.5}
    assert posted(store, limits=limits, files={"file": ("a.wav", bytes(2**20))})[0] == 413
    assert posted(store, limits=limits, content=chunks(), headers=form)[0] in (400, 413)


def test_audio_beyond_the_limit_is_too_large(store):
    status, _, error = posted(store, limits={"max_stream_seconds": 1.0}, files={"file": ("a.wav", WAV)})
    assert (status, error["code"]) == (413, "out_of_range")
    assert "a stream may have 1 s" in error["message"]


@pytest.mark.parametrize(
    ("file", "limits", "status", "code"),
    [
        (b"these are words", {}, 400, "invalid_argument"),
        (WAV[:30], {}, 400, "invalid_argument"),
        (WAV, {"max_stream_seconds": 1.0}, 413, "out_of_range"),
    ],
)
def test_an_error_before_the_first_event_is_a_status(store, file, limits, status, code):
    found, headers, error = posted(store, limits=limits, data={"stream": "true"}, files={"file": ("a.wav", file)})
    assert (found, headers["content-type"], error["code"]) == (status, "application/json", code)


def test_a_full_recognizer_says_when_to_try_again(store):
    status, headers, error = posted(store, limits={"max_streams": 1}, occupy=True, files={"file": ("a.wav", WAV)})
    assert (status, error["type"], headers["retry-after"]) == (429, "rate_limit_error", "10")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nRIFF', "cut off"),
        (b"--x\r\nwhat", "multipart form"),
        (b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nbabble\r\n--x--\r\n', "no field `file`"),
    ],
)
def test_a_form_that_is_cut_off_or_wrong_is_refused(store, body, reason):
    status, _, error = posted(store, content=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert status == 400
    assert reason in error["message"]


def test_an_upload_whose_client_vanishes_gives_its_slot_back(store):
    async def run():
        async with http_recognizer(store) as (engine, address):
            host, port = address.split(":")
            _, writer = await asyncio.open_connection(host, int(port))
            head = f"POST {URL} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n"
            writer.write(f"{head}Content-Length: 1000\r\n\r\n--x\r\n".encode())
            await writer.drain()
            await until_taken(engine)
            writer.close()
            await until_free(engine)

    asyncio.run(run())


def test_an_upload_that_stalls_is_ended(store):
    async def run():
        async with http_recognizer(store, idle_timeout_s=0.1) as (_, address):
            host, port = address.split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            head = f"POST {URL} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n"
            writer.write(f"{head}Content-Length: 1000\r\n\r\n--x\r\n".encode())
            status = await reader.readline()
            writer.close()
            return status

    assert b" 408 " in asyncio.run(run())


def test_an_upload_that_comes_byte_by_byte_is_ended_and_one_at_the_least_rate_is_not(store):
    async def upload(address, chunk):
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {URL} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        writer.write(f"{head}Content-Length: 999999\r\n\r\n{part}".encode())
        answer = asyncio.create_task(reader.readline())
        until_s = asyncio.get_running_loop().time() + 2.0
        while not answer.done() and asyncio.get_running_loop().time() < until_s:
            writer.write(chunk)
            await asyncio.wait({answer}, timeout=0.05)
        said = answer.result() if answer.done() else b""
        answer.cancel()
        writer.close()
        return said

    async def run():
        async with http_recognizer(store, idle_timeout_s=0.5) as (_, address):
            return await asyncio.gather(upload(address, b"1"), upload(address, bytes(1024)))

    slow, fast = asyncio.run(run())
    assert b" 408 " in slow
    assert fast == b""


@pytest.mark.parametrize("charset", ["undefined", "punycode", "utf-7", "raw_unicode_escape", "latin-1", "no-such"])
def test_fields_in_another_charset_than_utf_8_are_refused(store, charset):
    body = b'--x\r\nContent-Disposition: form-data; name="language"\r\n\r\n\\ud800+2AA-\r\n--x--\r\n'
    form = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    status, _, error = posted(store, content=body, headers=form)
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert f"charset={charset}: expected utf-8" in error["message"]


def test_utf_8_may_be_named(store):
    body = b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nbabble\r\n--x--\r\n'
    _, _, error = posted(
        store, content=body, headers={"Content-Type": "multipart/form-data; charset=UTF-8; boundary=x"}
    )
    assert "no field `file`" in error["message"]


def test_other_paths_and_methods_are_errors_of_the_same_form(store):
    async def run():
        async with http_recognizer(store) as (_, address), httpx.AsyncClient(verify=PLAIN) as client:
            answers = [await client.get(f"http://{address}{path}") for path in ("/v1/nothing", URL, "/v1/models/b")]
            return [(answer.status_code, answer.json()["error"]["type"]) for answer in answers]

    assert asyncio.run(run()) == [(status, "invalid_request_error") for status in (404, 405, 404)]
