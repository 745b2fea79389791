"""Clients that speak to a recognizer in real time, from a process of their own, whatever it answers (open loop)."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import grpc

from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

__all__ = ["Heard", "speak"]

_CHUNK_S = 0.1
_SAMPLE_BYTES = 2
_PATIENCE_S = 30.0  # for the results of what has been spoken


class Heard(NamedTuple):
    """What clients noted. finals_s: from each stream's last audio to its final result. failed: streams without one."""

    finals_s: list[float]
    failed: int


def speak(connection: Connection, port: int, recordings: Sequence[bytes], rate_hz: int, streams: int) -> None:
    """Answer each message, a number of seconds, with `Heard` of so many streams at once that last about as long."""
    while (seconds := connection.recv()) is not None:
        connection.send(asyncio.run(_speak(port, recordings, rate_hz, streams, seconds)))


async def _speak(port: int, recordings: Sequence[bytes], rate_hz: int, streams: int, seconds: float) -> Heard:
    began_s = time.monotonic()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = recognizer_pb2_grpc.RecognizerStub(channel)

        async def speaker(number: int) -> list[float | None]:
            await asyncio.sleep(number / streams * 1.7)  # so that neither chunks nor ends come all at once
            found: list[float | None] = []
            while time.monotonic() - began_s < seconds:
                found.append(await _stream(stub, recordings[(number + len(found)) % len(recordings)], rate_hz))
            return found

        noted = await asyncio.gather(*(speaker(number) for number in range(streams)))
    each = [final_s for found in noted for final_s in found]
    return Heard([final_s for final_s in each if final_s is not None], each.count(None))


async def _stream(stub: Any, audio: bytes, rate_hz: int) -> float | None:
    """Return the seconds from a recording's last audio to its final result; None without one."""
    size = round(_CHUNK_S * rate_hz) * _SAMPLE_BYTES
    ended_s = 0.0

    async def requests() -> AsyncIterator[pb.StreamingRecognizeRequest]:
        nonlocal ended_s
        wanted = pb.StreamingRecognitionFeatures(interim_results=True)
        yield pb.StreamingRecognizeRequest(streaming_config=pb.StreamingRecognitionConfig(streaming_features=wanted))
        due_s = time.monotonic()
        for at in range(0, len(audio), size):
            due_s += _CHUNK_S
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            yield pb.StreamingRecognizeRequest(audio=audio[at : at + size])
        ended_s = due_s

    final_s = None
    try:
        async with asyncio.timeout(len(audio) / size * _CHUNK_S + _PATIENCE_S):
            async for response in stub.StreamingRecognize(requests()):
                if response.results[0].is_final:
                    final_s = time.monotonic() - ended_s
    except (grpc.aio.AioRpcError, TimeoutError):
        return None
    return final_s
