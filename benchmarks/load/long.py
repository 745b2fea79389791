"""Preset `long`: CPU time of one stream minute by minute, sent as fast as it is recognized."""

import asyncio
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import grpc

from benchmarks.load import usage
from benchmarks.load.experiment import Conditions, Results
from benchmarks.load.recordings import Recording
from benchmarks.load.server import Target
from benchmarks.load.stream import CHUNK_S
from benchmarks.row import Progress, Row
from services.recognizer_client.client import connect
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["long"]

_MINUTES = 10
_MINUTE_S = 60.0
_SAMPLE_BYTES = 2
_LOOK_S, _IDLE_S = 0.5, 0.02  # CPU time in so long of an idle server


def long(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield the server's CPU time an audio-second in the first and in the tenth minute."""
    with conditions.serve(max_stream_seconds=_MINUTES * _MINUTE_S + 1) as target:
        progress(f"a stream of {_MINUTES} minutes")
        minutes = asyncio.run(_minutes(target, conditions.recordings))
        for minute in (1, _MINUTES):
            yield Row(
                "CPU, server", f"minute {minute} of a stream", 1000 * minutes[minute - 1] / _MINUTE_S, "ms/audio-s"
            )
        yield Row("minute 10 / minute 1", "CPU of a stream", minutes[-1] / minutes[0], "1")


async def _minutes(target: Target, recordings: Sequence[Recording]) -> list[float]:
    """Return the CPU seconds of each minute; the next is sent when the last is recognized, and the server idle."""
    rate_hz, pid = recordings[0].rate_hz, target.process
    said = b"".join(recording.audio for recording in recordings)
    size = round(_MINUTE_S * rate_hz) * _SAMPLE_BYTES
    minute = (said * ceil(size / len(said)))[:size]
    chunk = round(CHUNK_S * rate_hz) * _SAMPLE_BYTES
    used = []
    async with grpc.aio.insecure_channel(target.address) as channel:
        call = connect(channel).StreamingRecognize()
        opening = pb.StreamingRecognitionConfig()
        opening.config.explicit_decoding_config.sample_rate_hertz = rate_hz
        await call.write(pb.StreamingRecognizeRequest(streaming_config=opening))
        reader = asyncio.create_task(_read(call))
        before_s = await _idle_at_s(pid)
        for _ in range(_MINUTES):
            for at in range(0, len(minute), chunk):
                await call.write(pb.StreamingRecognizeRequest(audio=minute[at : at + chunk]))
            now_s = await _idle_at_s(pid)
            used.append(now_s - before_s)
            before_s = now_s
        await call.done_writing()
        await reader
    return used


async def _read(call: "grpc.aio.StreamStreamCall[Any, pb.StreamingRecognizeResponse]") -> None:
    async for _ in call:
        pass


async def _idle_at_s(pid: int) -> float:
    """Wait until a process is idle; return the CPU seconds that it has used."""
    used_s, before_s = usage.cpu_s(pid), -1.0
    while used_s - before_s > _IDLE_S:
        await asyncio.sleep(_LOOK_S)
        used_s, before_s = usage.cpu_s(pid), used_s
    return used_s
