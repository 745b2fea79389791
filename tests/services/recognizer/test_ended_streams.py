"""Streams that the recognizer ends: their results come first, then the status, and a client can go on."""

import asyncio
import gc
import logging

import grpc
import pytest
from rigs.recognizer import AUDIO, audio, interim, opening, recognizer
from rigs.slots import until_taken

from services.recognizer.transports import grpc_methods
from services.recognizer_client.client import connect
from sonorant.serving.resume_token import parse_token
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.steps import alone
from sonorant.v1 import recognizer_pb2 as pb

LIMIT_S = 1.5
LIMIT_BYTES = round(LIMIT_S * 16_000)


async def ended(call, told=None):
    """The last response of a stream, and the status that follows it.

    told: set by the response that says the stream's end, for a client that still writes, and then ends its messages:
    gRPC makes INTERNAL of a status that meets a write.
    """
    last = None
    try:
        async for response in call:
            last = response
            if told and response.end_reason:
                told.set()
    except grpc.aio.AioRpcError as error:
        return last, error.code()
    raise AssertionError("the client has ended the stream")


def heard(store, content, *, goes_on):
    """The last result of a session; goes_on: its speech does."""
    session = Session(store.get(), SessionOptions())
    session.push(content)
    return alone(session.suspend_steps() if goes_on else session.finish_steps())[-1]


def check(store, response, reason, content):
    (result,) = response.results
    assert result.is_final
    assert response.end_reason == reason
    expected = heard(store, content, goes_on=reason != pb.END_REASON_IDLE)
    assert result.alternatives[0].transcript == expected.alternatives[0].text
    end_s = result.result_end_offset.ToMicroseconds() / 1e6
    assert end_s == pytest.approx(expected.end_s, abs=1e-6)
    assert (end_s == len(content) / 16_000) == (reason == pb.END_REASON_IDLE)
    assert len(result.alternatives[0].transcript) > 5
    assert response.resume_offset == result.result_end_offset
    assert parse_token(response.resume_token).begin_s == end_s


@pytest.mark.parametrize("cut", [LIMIT_BYTES, LIMIT_BYTES - 334, len(AUDIO)])
def test_audio_up_to_the_length_limit_is_recognized_before_the_status(store, cut):
    async def run():
        async with recognizer(store, max_stream_seconds=LIMIT_S) as (_, channel):
            requests = [opening(), audio(AUDIO[:cut]), *([audio(AUDIO[cut:])] if cut < len(AUDIO) else [])]
            return await ended(connect(channel).StreamingRecognize(iter(requests)))

    response, code = asyncio.run(run())
    assert code == grpc.StatusCode.OUT_OF_RANGE
    check(store, response, pb.END_REASON_LENGTH_LIMIT, AUDIO[:LIMIT_BYTES])
    assert response.metadata.max_stream_duration.ToMilliseconds() == 1500


@pytest.fixture
def patient(monkeypatch):
    """A recognizer that waits for its clients to end their messages."""
    monkeypatch.setattr(grpc_methods, "_LINGER_S", 30.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("silent", [None, audio(b""), pb.StreamingRecognizeRequest()])
def test_audio_before_the_idle_limit_is_recognized_whatever_empty_messages_come(store, silent):
    async def run():
        async with recognizer(store, idle_timeout_s=1.0) as (server, channel):
            call, told = connect(channel).StreamingRecognize(), asyncio.Event()

            async def speak():
                await call.write(opening())
                await call.write(audio())
                while silent is not None and not told.is_set():
                    await call.write(silent)
                    await asyncio.sleep(0.02)
                await told.wait()
                await call.done_writing()

            speaking = asyncio.create_task(speak())
            found = await ended(call, told)
            await speaking
            return *found, server.engine.admission.active

    response, code, active = asyncio.run(run())
    assert (code, active) == (grpc.StatusCode.DEADLINE_EXCEEDED, 0)
    check(store, response, pb.END_REASON_IDLE, AUDIO)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("busy", [False, True])
def test_audio_before_the_end_of_a_drain_is_recognized(store, busy):
    async def run():
        async with recognizer(store) as (server, channel):
            call, told = connect(channel).StreamingRecognize(), asyncio.Event()
            await call.write(opening())
            await call.write(audio())
            await until_taken(server.engine)

            async def speak():
                while busy and not told.is_set():
                    await call.write(audio(bytes(2)))
                    await asyncio.sleep(0.02)
                await told.wait()
                await call.done_writing()

            speaking = asyncio.create_task(speak())
            going = asyncio.create_task(server.stop(1.5))
            found = await ended(call, told)
            await speaking
            await going
            return found

    response, code = asyncio.run(run())
    assert code == grpc.StatusCode.UNAVAILABLE
    billed = response.metadata.total_billed_duration.ToMilliseconds() * 16
    assert busy == (billed > len(AUDIO))
    assert response.end_reason == pb.END_REASON_DRAIN
    assert response.results[0].is_final
    transcript = response.results[0].alternatives[0].transcript
    assert transcript.startswith(heard(store, AUDIO, goes_on=True).alternatives[0].text)
    if not busy:
        check(store, response, pb.END_REASON_DRAIN, AUDIO)


async def rest(call):
    while await call.read():
        pass


@pytest.mark.parametrize("drains", [False, True])
def test_a_read_that_is_abandoned_at_the_end_logs_no_error(store, caplog, drains):
    async def run():
        async with recognizer(store, idle_timeout_s=60.0 if drains else 1.0) as (server, channel):
            call = connect(channel).StreamingRecognize()
            await interim(call)
            if drains:
                server.engine.end_streams()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await rest(call)
        gc.collect()  # an exception that nobody has retrieved is logged when its task is collected
        return caught.value.code()

    with caplog.at_level(logging.ERROR):
        code = asyncio.run(run())
    assert code == (grpc.StatusCode.UNAVAILABLE if drains else grpc.StatusCode.DEADLINE_EXCEEDED)
    assert not caplog.records


def test_a_whole_recording_beyond_the_limit_is_refused_before_anything_is_computed(store, monkeypatch):
    pushed = []
    monkeypatch.setattr(Session, "push_steps", lambda self, content: pushed.append(content))

    async def run():
        async with recognizer(store, max_stream_seconds=LIMIT_S) as (_, channel):
            with pytest.raises(grpc.aio.AioRpcError, match=r"2.0 s of audio: a stream may have 1.5 s") as caught:
                await connect(channel).Recognize(pb.RecognizeRequest(content=AUDIO))
            return caught.value.code()

    assert asyncio.run(run()) == grpc.StatusCode.OUT_OF_RANGE
    assert not pushed
