"""A recognizer at its capacity: who is refused, what it is told, and who goes on."""

import asyncio
import threading
import time
from itertools import count

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from rigs.babble import RATE_HZ
from rigs.recognizer import AUDIO, SPEECH, audio, interim, last, opening, recognizer

from services.recognizer.calibration import calibrate
from services.recognizer.workers import Workers
from services.recognizer_client.client import ask_model, connect, stream_recording
from sonorant.serving import admission
from sonorant.serving.headroom import Headroom
from sonorant.serving.request import StreamRequest
from sonorant.serving.round_cost import RoundCost
from sonorant.serving.session import Session
from sonorant.v1 import recognizer_pb2 as pb


async def refused(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def retry_info(error):
    """What the standard's own library reads from an error."""
    info = RetryInfo()
    (detail,) = rpc_status.from_call(error).details
    assert detail.Unpack(info)
    return info.retry_delay.ToMicroseconds() / 1e6


def slow(headroom, rate):
    """Let each second of audio have taken `rate` seconds."""
    for number in range(2000):
        headroom.cost.measured(asyncio.get_running_loop().time() + 1e-6 * number, 10, 1.0, rate)


def test_what_does_not_fit_is_told_when_to_retry_and_the_others_go_on(store):
    async def run():
        async with recognizer(store, threads=1) as (server, channel):
            slow(server.headroom, 0.3)
            stub = connect(channel)
            calls = [stub.StreamingRecognize() for _ in range(2)]
            for call in calls:
                await interim(call)
            errors = [
                await refused(stub.StreamingRecognize(iter([opening(), audio()])).read()),
                await refused(stub.Recognize(pb.RecognizeRequest(content=AUDIO))),
            ]
            model = await ask_model(stub)
            health = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
            for call in calls:
                await call.done_writing()
            return errors, model, health.status, [await last(call) for call in calls]

    errors, model, health, finals = asyncio.run(run())
    for error in errors:
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "one more would delay the others" in error.details()
        assert 0.5 <= retry_info(error) <= 10.0
    assert model.model == "babble/1"
    assert health == health_pb2.HealthCheckResponse.SERVING
    assert all(final.results[0].alternatives[0].transcript for final in finals)


def test_a_client_comes_back_when_it_was_told_to(store, monkeypatch):
    monkeypatch.setattr(admission, "_UNKNOWN_STREAM_S", 0.5)

    async def run():
        async with recognizer(store, max_streams=1) as (_, channel):
            stub = connect(channel)
            held = stub.StreamingRecognize()
            await interim(held)
            waiting = asyncio.create_task(stream_recording(stub, SPEECH, RATE_HZ))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            held.cancel()
            return (await waiting).text, (await stream_recording(stub, SPEECH, RATE_HZ)).text

    text, after = asyncio.run(run())
    assert text == after != ""


def test_a_burst_is_refused_beyond_the_capacity(store):
    async def run():
        async with recognizer(store, threads=1) as (server, channel):
            slow(server.headroom, 0.15)
            capacity = server.engine.admission.fitting
            stub = connect(channel)
            calls = [stub.StreamingRecognize() for _ in range(50)]
            await asyncio.gather(*(call.write(opening()) for call in calls))
            reads = [asyncio.create_task(refused(call.read())) for call in calls]
            done, _ = await asyncio.wait(reads, return_when=asyncio.FIRST_COMPLETED)
            while len(done) < 50 - capacity:
                done, _ = await asyncio.wait(reads, timeout=0.1)
            active = server.engine.admission.active
            for call in calls:
                call.cancel()
            await asyncio.gather(*reads, return_exceptions=True)
            return capacity, active, {(await read).code() for read in done}

    capacity, active, codes = asyncio.run(run())
    assert 1 < capacity < 10
    assert active == capacity
    assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}


def test_a_calibration_says_what_streams_cost_before_there_are_any(store):
    headroom = Headroom(0.3, 1, 32)

    async def run():
        workers = Workers(1, headroom.cost.measured)
        await calibrate(store.get(), workers, headroom)
        await asyncio.to_thread(workers.shutdown)

    before = headroom.cost.fit(1e9)
    asyncio.run(run())
    assert headroom.cost.fit(1e9) != before  # long after what was measured is forgotten


@pytest.mark.parametrize(("seconds", "piece", "late"), [(0.1, 1, True), (30.0, 10, False)])
def test_live_audio_that_waits_closes_admission_and_a_long_message_does_not(store, monkeypatch, seconds, piece, late):
    push_steps, pieces, reached, goes_on = Session.push_steps, count(1), threading.Event(), threading.Event()

    def stalling(self, samples):
        if next(pieces) == piece:
            reached.set()
            goes_on.wait()
        return (yield from push_steps(self, samples))

    monkeypatch.setattr(Session, "push_steps", stalling)

    async def run():
        async with recognizer(store, threads=1, slo_ms=300.0) as (server, _):
            with server.engine.admission.slot(), server.engine.stream(StreamRequest()) as stream:
                pushing = asyncio.create_task(stream.push(bytes(2 * round(seconds * RATE_HZ))))
                await asyncio.to_thread(reached.wait)
                await asyncio.sleep(0.3)  # longer than half of the objective
                fits, worst_s = server.engine.admission.fitting > 0, server.headroom.lag.worst_s(time.monotonic())
                goes_on.set()
                await pushing
                return fits, worst_s

    fits, worst_s = asyncio.run(run())
    assert (not fits, worst_s > 0.15) == (late, late)


def test_rounds_cost_by_the_audio_that_the_model_gets(store, monkeypatch):
    rounds, sessions = [], []
    monkeypatch.setattr(RoundCost, "measured", lambda self, *measured: rounds.append(measured))

    async def run():
        async with recognizer(store) as (server, _):
            with server.engine.stream(StreamRequest()) as stream:
                sessions.append(stream._session)
                await stream.push(bytes(4 * RATE_HZ))
                silent = list(rounds)
                await stream.push(AUDIO)
                await stream.finish()
                return silent

    silent = asyncio.run(run())
    (session,) = sessions
    assert silent == []
    assert sum(audio_s for _, _, audio_s, _ in rounds) == pytest.approx(session.speech_s)
    assert 0 < session.speech_s < session.audio_s
