"""Preset `hostile`: paced streams alone, and beside two clients that send the largest legal messages over and over."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection

import grpc

from benchmarks.load.event_loop import event_loop
from benchmarks.load.experiment import Conditions, Results, step_rows
from benchmarks.load.latency import percentile
from benchmarks.load.recordings import murmurs
from benchmarks.load.step import Speakers
from benchmarks.rigs.process import Child
from benchmarks.row import Progress, Row
from services.process.channels import open_aio_channel
from services.recognizer_client.client import ask_model, connect
from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

__all__ = ["flood", "hostile"]

_STREAMS, _CLIENTS = 50, 2
_MOST_MESSAGE = 16 * 2**20 - 1024  # bytes: the default of `serving.max_message_mb`, less the message's frame
_SAMPLE_BYTES = 2
_PAUSE_S = 0.05  # behind an error; hostile clients heed no advice
_LOOK_S = 0.1


def hostile(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield the figures of both, and by how much the others' p95 moves."""
    streams = (conditions.streams or (_STREAMS,))[0]
    model = conditions.models[0].name
    with conditions.serve() as target, Speakers(target, conditions.recordings) as speakers:
        progress(f"{streams} streams alone")
        alone = speakers.run(streams, conditions.seconds, model)
        yield from step_rows(alone, f"{streams} streams, alone", progress)
        progress(f"{streams} streams beside {_CLIENTS} hostile clients")
        with Child(flood, target.address, list(target.client_cores), model) as child:
            child.send()
            beside = speakers.run(streams, conditions.seconds, model)
            messages: int = child.query()
    yield from step_rows(beside, f"{streams} streams, hostile beside", progress)
    results.series |= {"alone": [alone], "beside hostile clients": [beside]}
    yield Row("hostile messages", f"of {_CLIENTS} clients", messages, "answered")
    if alone.finals_s and beside.finals_s:
        moved_s = percentile(beside.finals_s, 0.95) - percentile(alone.finals_s, 0.95)
        yield Row("p95 moves", f"{streams} streams, final result", 1000 * moved_s, "ms")


def flood(connection: Connection, address: str, cores: list[int], model: str) -> None:
    """Send the largest messages from a first request on until a second one, which is answered with their number."""
    os.sched_setaffinity(0, cores)
    with event_loop() as loop:
        while connection.recv() is not None:
            connection.send(loop.run(_flood(address, connection, model)))


async def _flood(address: str, connection: Connection, model: str) -> int:
    answered = 0

    async def client(request: Callable[[], Awaitable[object]]) -> None:
        nonlocal answered
        while True:
            try:
                await request()
                answered += 1
            except grpc.aio.AioRpcError:
                await asyncio.sleep(_PAUSE_S)

    options = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))
    async with open_aio_channel(address, options) as channel:
        stub = connect(channel)
        audio = await _largest(stub, model)
        config = pb.RecognitionConfig(model=model)

        async def stream() -> None:
            requests = [
                pb.StreamingRecognizeRequest(streaming_config=pb.StreamingRecognitionConfig(config=config)),
                pb.StreamingRecognizeRequest(audio=audio),
            ]
            async for _ in stub.StreamingRecognize(iter(requests)):
                pass

        async def whole() -> None:
            await stub.Recognize(pb.RecognizeRequest(config=config, content=audio))

        clients = [asyncio.create_task(client(request)) for request in (stream, whole)]
        while not connection.poll():
            await asyncio.sleep(_LOOK_S)
        connection.recv()
        for each in clients:
            each.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
    return answered


async def _largest(stub: "recognizer_pb2_grpc.RecognizerAsyncStub", model: str) -> bytes:
    """Return as much audio as a message and a stream may have, which is no silence."""
    info = await ask_model(stub, model)
    seconds = _MOST_MESSAGE / _SAMPLE_BYTES / info.sample_rate_hz
    piece = murmurs(info.sample_rate_hz, 1)[0]
    size = round(min(seconds, info.max_stream_s or seconds) * info.sample_rate_hz) * _SAMPLE_BYTES
    return (piece.audio * (size // len(piece.audio) + 1))[:size]
