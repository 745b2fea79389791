"""Clients that vanish, stall, or send next to nothing hold nothing of the recognizer for long; over real sockets."""

import asyncio

import grpc
import pytest
from rigs.babble import RATE_HZ
from rigs.black_hole import proxied
from rigs.recognizer import AUDIO, SPEECH, audio, interim, opening, recognizer
from rigs.slots import until_free, until_taken

from services.process import channels
from services.recognizer import engine as engine_module
from services.recognizer import inbox
from services.recognizer import server as server_module
from services.recognizer.engine import Engine
from services.recognizer.transports.grpc import RecognizerServicer
from services.recognizer_client.client import connect, stream_recording
from sonorant.serving.errors import IdleStream
from sonorant.v1 import recognizer_pb2 as pb


async def read_all(call):
    while (await call.read()) is not grpc.aio.EOF:
        pass


def test_a_stream_without_a_first_message_holds_no_slot_and_is_ended(store):
    async def run():
        async with recognizer(store, max_streams=1, idle_timeout_s=1.0) as (server, channel):
            stub = connect(channel)
            silent = [stub.StreamingRecognize() for _ in range(5)]
            reads = [asyncio.create_task(call.read()) for call in silent]
            await asyncio.sleep(0.05)
            assert server.engine.admission.active == 0
            transcript = await stream_recording(stub, SPEECH, RATE_HZ)
            ended = await asyncio.gather(*reads, return_exceptions=True)
            return transcript.text, {error.code() for error in ended}

    text, codes = asyncio.run(run())
    assert text
    assert codes == {grpc.StatusCode.DEADLINE_EXCEEDED}


def test_a_client_that_reads_no_results_is_ended(store):
    async def run():
        async with recognizer(store, idle_timeout_s=0.1) as (server, _):
            with pytest.raises(IdleStream, match=r"no result was read for 0.1 s"):
                await server.engine.in_time(asyncio.Event().wait())  # as the writing of a result that nobody reads

    asyncio.run(run())


def test_an_answer_is_read_within_the_idle_limit_however_long_a_stream_s_result_may_take(store, monkeypatch):
    monkeypatch.setattr(engine_module, "_READ_S", 0.01)

    async def run():
        async with recognizer(store, idle_timeout_s=0.1) as (server, _):
            with pytest.raises(IdleStream, match=r"no result was read for 0.1 s"):
                await server.engine.answered(asyncio.Event().wait())

    asyncio.run(run())


def test_a_stream_whose_results_are_not_read_is_ended_long_before_an_idle_one(store, monkeypatch):
    monkeypatch.setattr(engine_module, "_READ_S", 0.5)

    async def endless(self, first, inbox):
        while True:
            yield pb.StreamingRecognizeResponse(resume_token="x" * 200_000)  # more than is sent before it is read

    monkeypatch.setattr(RecognizerServicer, "_stream", endless)

    async def run():
        async with recognizer(store, idle_timeout_s=3600.0) as (server, channel):
            call = connect(channel).StreamingRecognize()
            await call.write(opening())
            await until_taken(server.engine)
            await until_free(server.engine)
            with pytest.raises(grpc.aio.AioRpcError, match=r"no result was read for 0\.5 s") as caught:
                await read_all(call)
            return caught.value.code()

    assert asyncio.run(run()) == grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_client_whose_network_is_gone_gives_its_slot_back(store, monkeypatch):
    quick = tuple((name, 300 if name.endswith("_ms") else value) for name, value in channels.KEEPALIVE_OPTIONS)
    monkeypatch.setattr(server_module, "KEEPALIVE_OPTIONS", quick)

    async def run():
        async with (
            recognizer(store, idle_timeout_s=1000.0) as (server, _),
            proxied(server.port) as (proxy, port),
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            call = connect(channel).StreamingRecognize()
            await interim(call)
            assert server.engine.admission.active == 1
            proxy.cut()
            await until_free(server.engine)
            call.cancel()

    asyncio.run(run())


def test_a_flood_of_tiny_messages_waits_and_the_others_do_not(store, monkeypatch):
    monkeypatch.setattr(inbox, "_SMALL_S", 3600.0)

    async def run():
        async with recognizer(store) as (_, channel):
            stub = connect(channel)
            floods = [
                stub.StreamingRecognize(iter([opening(), *[audio(content)] * 10_000])) for content in (b"", AUDIO[:2])
            ]
            reads = [asyncio.create_task(flood.read()) for flood in floods]
            text = (await stream_recording(stub, SPEECH, RATE_HZ)).text
            done = [read.done() for read in reads]
            for flood in floods:
                flood.cancel()
            await asyncio.gather(*reads, return_exceptions=True)
            return text, done

    text, done = asyncio.run(run())
    assert text
    assert done == [False, False]


def test_tiny_messages_give_the_transcript_of_the_whole(store):
    async def run():
        async with recognizer(store) as (_, channel):
            stub = connect(channel)
            whole = await stub.Recognize(pb.RecognizeRequest(content=AUDIO[:1000]))
            tiny = [audio(AUDIO[at : at + 2]) for at in range(0, 1000, 2)]
            (final,) = [one async for one in stub.StreamingRecognize(iter([opening(), *tiny]))]
            return whole.results[0].alternatives, final.results[0].alternatives

    whole, tiny = asyncio.run(run())
    assert whole == tiny


def test_each_result_of_a_stream_is_written_within_the_limit(store, monkeypatch):
    async def never(self, writing):
        writing.close()
        raise IdleStream("no result was read")

    monkeypatch.setattr(Engine, "in_time", never)

    async def run():
        async with recognizer(store) as (_, channel):
            with pytest.raises(grpc.aio.AioRpcError, match="no result was read"):
                await connect(channel).StreamingRecognize(iter([opening(), audio()])).read()

    asyncio.run(run())
