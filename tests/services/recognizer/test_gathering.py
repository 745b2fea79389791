"""Under load messages are gathered: fewer computations, the same transcripts, and no wait at an end."""

import asyncio
import json
import time
from types import SimpleNamespace

import grpc
import pytest
from rigs.babble import RATE_HZ
from rigs.http_recognizer import http_recognizer
from rigs.recognizer import AUDIO, SPEECH, audio, last, opening, recognizer
from websockets.asyncio.client import connect as connect_socket

from services.recognizer.gathering import GatherTime, gathered
from services.recognizer.inbox import Ending, Inbox
from services.recognizer.stream import MonoStream
from services.recognizer_client.client import connect, stream_recording
from sonorant.errors import BadAudio
from sonorant.serving.headroom import Headroom
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import google_speech_pb2 as google

CHUNK = AUDIO[:1600]
SPOKEN = AUDIO + bytes(32_000)  # and silence, which ends the utterance
FINALIZE, CLOSE = json.dumps({"type": "Finalize"}), json.dumps({"type": "CloseStream"})
GOOGLE_OPENING = google.StreamingRecognizeRequest(
    recognizer="projects/p/locations/l/recognizers/_",
    streaming_config={
        "config": {
            "language_codes": ["en-US"],
            "explicit_decoding_config": {"encoding": 1, "sample_rate_hertz": 8000, "audio_channel_count": 1},
        }
    },
)


def google_stream(channel, requests=None):
    method = channel.stream_stream(
        "/google.cloud.speech.v2.Speech/StreamingRecognize",
        request_serializer=lambda message: message.SerializeToString(),
    )
    return method(requests)


@pytest.fixture
def pushes(monkeypatch):
    """The bytes of each push of a stream."""
    push, sizes = MonoStream.push, []

    async def watched(self, *messages):
        sizes.append(sum(map(len, messages)))
        return await push(self, *messages)

    monkeypatch.setattr(MonoStream, "push", watched)
    return sizes


def gathering(monkeypatch, gather_s):
    monkeypatch.setattr(Headroom, "gather_s", lambda *_: gather_s)


def text_of(store, content):
    session = Session(store.get(), SessionOptions())
    session.push(content)
    return session.finish()[-1].alternatives[0].text


@pytest.mark.parametrize("gather_s", [0.0, 0.2])
def test_a_paced_stream_has_the_transcript_that_it_has_alone_by_fewer_pushes_under_load(
    store, pushes, monkeypatch, gather_s
):
    gathering(monkeypatch, gather_s)

    async def run():
        async with recognizer(store) as (_, channel):
            return await stream_recording(connect(channel), SPEECH, RATE_HZ, paced=True, chunk_ms=20)

    transcript = asyncio.run(run())
    assert transcript.text == text_of(store, AUDIO)
    assert sum(pushes) == len(AUDIO)
    if gather_s:
        assert 5 < len(pushes) <= 2.0 / gather_s + 3
    else:
        assert len(pushes) > 60


@pytest.fixture
def spoilt(monkeypatch):
    """Each message is gathered with another one, of a part of a sample."""
    push = MonoStream.push
    monkeypatch.setattr(MonoStream, "push", lambda self, *messages: push(self, *messages, bytes(801)))


def final_text(store, content):
    (result,) = (one for one in Session(store.get(), SessionOptions()).push(content) if one.is_final)
    return result.alternatives[0].text


@pytest.mark.usefixtures("spoilt")
def test_a_client_reads_what_came_before_an_error_and_then_the_error(store):
    async def run():
        async with recognizer(store) as (_, channel):
            call = connect(channel).StreamingRecognize()
            await call.write(opening())
            await call.write(audio(SPOKEN))
            response = await call.read()
            while not response.results[0].is_final:
                response = await call.read()
            with pytest.raises(grpc.aio.AioRpcError, match="801 bytes of audio: expected whole 16-bit samples"):
                await call.read()
            return response.results[0].alternatives[0].transcript

    assert asyncio.run(run()) == final_text(store, SPOKEN)


@pytest.mark.usefixtures("spoilt")
def test_so_does_a_client_of_googles_protocol(store):
    async def run():
        async with recognizer(store) as (_, channel):
            call = google_stream(channel)
            await call.write(GOOGLE_OPENING)
            await call.write(google.StreamingRecognizeRequest(audio=SPOKEN))
            response = google.StreamingRecognizeResponse.FromString(await call.read())
            with pytest.raises(grpc.aio.AioRpcError, match="801 bytes of audio"):
                await call.read()
            return response.results[0].alternatives[0].transcript

    assert asyncio.run(run()) == final_text(store, SPOKEN)


@pytest.mark.usefixtures("spoilt")
def test_so_does_a_client_of_a_socket(store):
    async def run():
        async with http_recognizer(store) as (_, address), connect_socket(f"ws://{address}/v1/stream") as call:
            await call.send(SPOKEN)
            read = [json.loads(await call.recv())]
            while read[-1]["type"] != "Error":
                read.append(json.loads(await asyncio.wait_for(call.recv(), 15)))
            return read

    *_, final, error = asyncio.run(run())
    assert final["alternatives"][0]["transcript"] == final_text(store, SPOKEN)
    assert "801 bytes of audio" in error["message"]


def test_the_end_of_the_messages_ends_the_wait(store, pushes, monkeypatch):
    gathering(monkeypatch, 30.0)

    async def run():
        async with recognizer(store) as (_, channel):
            began_s = time.monotonic()
            requests = [opening(), *(audio(AUDIO[at : at + 1600]) for at in range(0, len(AUDIO), 1600))]
            response = await last(connect(channel).StreamingRecognize(iter(requests)))
            return response.results[0].alternatives[0].transcript, time.monotonic() - began_s

    text, took_s = asyncio.run(run())
    assert text == text_of(store, AUDIO)
    assert took_s < 15
    assert sum(pushes) == len(AUDIO)
    assert len(pushes) < 10


def test_googles_streams_gather_too_and_what_is_wrong_is_refused_behind_the_audio_before_it(store, pushes, monkeypatch):
    gathering(monkeypatch, 30.0)
    sent = [google.StreamingRecognizeRequest(audio=CHUNK) for _ in range(4)]
    wrong = google.StreamingRecognizeRequest(recognizer="projects/p/locations/l/recognizers/other", audio=CHUNK)

    async def run():
        async with recognizer(store) as (_, channel):
            call = google_stream(channel, iter([GOOGLE_OPENING, *sent, wrong]))
            with pytest.raises(grpc.aio.AioRpcError, match="the stream began with") as caught:
                async for _ in call:
                    pass
            return caught.value.code()

    assert asyncio.run(run()) == grpc.StatusCode.INVALID_ARGUMENT
    assert sum(pushes) == 4 * 1600
    assert len(pushes) == 2


def test_a_finalize_message_ends_the_wait_of_a_socket(store, pushes, monkeypatch):
    gathering(monkeypatch, 30.0)

    async def run():
        async with http_recognizer(store) as (_, address), connect_socket(f"ws://{address}/v1/stream") as call:
            for message in (AUDIO[:8000], AUDIO[8000:16000], AUDIO[16000:], FINALIZE, CLOSE):
                await call.send(message)
            read = [json.loads(await call.recv()) for _ in range(2)]
            while not read[-1].get("from_finalize"):
                read.append(json.loads(await asyncio.wait_for(call.recv(), 15)))
            return read[-1]

    result = asyncio.run(run())
    assert result["alternatives"][0]["transcript"] == text_of(store, AUDIO)
    assert sum(pushes) == len(AUDIO)
    assert len(pushes) <= 2


async def _messages(*messages):
    for message in messages:
        yield message
    await asyncio.sleep(3600)


def inbox_of(*messages, gather_s=30.0, ending=None):
    return Inbox(_messages(*messages), 60.0, ending or Ending(), lambda: gather_s)


LIVE = SimpleNamespace(gathers=True)


async def joined(inbox, count, audio_of=bytes, stream=LIVE):
    """What is gathered, time after time, by a stream that has just done so."""
    await inbox.gather()
    found = []
    for _ in range(count):
        async with asyncio.timeout(10):
            found.append(b"".join(await gathered(inbox, stream, audio_of(await inbox.next()), audio_of)))
    return found


def test_as_much_as_may_be_read_ahead_ends_the_wait():
    async def run():
        async with inbox_of(*[bytes(100)] * 200) as inbox:
            small = await joined(inbox, 2)
        async with inbox_of(*[bytes(30_000)] * 20) as inbox:
            return small, await joined(inbox, 2)

    small, large = asyncio.run(run())
    assert [len(one) for one in small] == [1700, 1700]  # 16, behind the one that was taken
    assert [len(one) for one in large] == [90_000, 90_000]


@pytest.mark.parametrize("other", [{"type": "KeepAlive"}, b"tiny"])
def test_what_is_no_audio_ends_the_wait_and_comes_next(other):
    async def run():
        async with inbox_of(bytes(100), bytes(100), other, bytes(100)) as inbox:
            return await joined(inbox, 1), await inbox.next()

    assert asyncio.run(run()) == ([bytes(200)], other)


def test_an_error_of_a_message_comes_behind_the_audio_before_it():
    def audio_of(message):
        if message[:1] == b"!":
            raise BadAudio("audio", "broken")
        return message

    async def run():
        async with inbox_of(bytes(100), bytes(100), b"!" * 100, bytes(100), gather_s=0.3) as inbox:
            before = await joined(inbox, 1, audio_of)
            with pytest.raises(BadAudio, match="broken"):
                await joined(inbox, 1, audio_of)
            return before

    assert asyncio.run(run()) == [bytes(200)]


def test_what_comes_while_a_stream_is_recognized_for_longer_than_it_gathers_is_gathered():
    async def run():
        sent = asyncio.Queue()

        async def messages():
            while True:
                yield await sent.get()

        async with Inbox(messages(), 60.0, Ending(), lambda: 0.05) as inbox:
            sent.put_nowait(bytes(100))
            await joined(inbox, 1)
            for _ in range(4):
                sent.put_nowait(bytes(100))
            await asyncio.sleep(0.1)
            message = await inbox.next()
            return await gathered(inbox, LIVE, message, bytes)

    assert asyncio.run(run()) == [bytes(100)] * 4


def test_a_stream_that_is_ahead_and_an_empty_message_gather_nothing():
    async def run():
        async with inbox_of(bytes(100), bytes(200)) as inbox:
            await inbox.gather()
            ahead = await gathered(inbox, SimpleNamespace(gathers=False), await inbox.next(), bytes)
            return ahead, await gathered(inbox, LIVE, b"", bytes)

    assert asyncio.run(run()) == ([bytes(100)], [b""])


def test_the_time_comes_and_a_drain_ends_the_wait_for_it():
    async def run():
        loop, ending = asyncio.get_running_loop(), Ending()
        async with inbox_of(bytes(100), gather_s=0.2) as inbox:
            began_s = loop.time()
            await joined(inbox, 1)
            waited_s = loop.time() - began_s
        async with inbox_of(bytes(100), ending=ending) as inbox:
            loop.call_later(0.05, ending.begin)
            return waited_s, await joined(inbox, 1)

    waited_s, drained = asyncio.run(run())
    assert 0.15 < waited_s < 5
    assert drained == [bytes(100)]


def test_behind_the_end_of_the_messages_or_of_a_drain_nothing_is_waited_for():
    async def ended():
        await asyncio.sleep(0.05)
        yield bytes(100)

    async def run():
        ending = Ending()
        async with Inbox(ended(), 60.0, ending, lambda: 30.0) as inbox:
            over = await joined(inbox, 1)
        async with inbox_of(bytes(100), ending=ending) as inbox:
            await inbox.gather()
            message = await inbox.next()
            ending.begin()
            async with asyncio.timeout(10):
                return over, await gathered(inbox, LIVE, message, bytes)

    assert asyncio.run(run()) == ([bytes(100)], [bytes(100)])


def test_where_nothing_is_gathered_a_message_is_recognized_by_itself():
    async def run():
        async with inbox_of(bytes(100), bytes(200), gather_s=0.0) as inbox:
            return await joined(inbox, 2)

    assert asyncio.run(run()) == [bytes(100), bytes(200)]


def test_the_gather_time_is_looked_up_now_and_then():
    class Loads:
        active, asked = 3, 0

        def gather_s(self, _now_s, active):
            self.asked += 1
            return active / 10

    loads, now_s = Loads(), 1.0
    gather_time = GatherTime(loads, loads, lambda: now_s)
    assert [gather_time() for _ in range(50)] == [0.3] * 50
    assert loads.asked == 1
    now_s, loads.active = now_s + 1, 5
    assert gather_time() == 0.5
