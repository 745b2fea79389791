"""Preset `long`: CPU time of one stream minute by minute, sent as fast as it is recognized."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from math import ceil
from typing import Any

import grpc

from benchmarks.load import usage
from benchmarks.load.experiment import Conditions, Results
from benchmarks.load.recordings import Recording
from benchmarks.load.server import Target
from benchmarks.load.stream_end import STREAM_ENDED, stream_error
from benchmarks.row import Progress, Row
from services.process.channels import open_aio_channel
from services.recognizer_client.client import ask_model, connect
from sonorant.errors import SonorantError
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["long"]

_MINUTES = 10
_MINUTE_S = 60.0
_SAMPLE_BYTES = 2
_UNHEARD_S = 10.0  # of silence at the end of a minute, at most
_PATIENCE_S = 60.0
_LOOK_S, _IDLE_S, _LOOKS = 0.5, 0.02, 3  # CPU time in so long of an idle server, and how often it is looked for


class StreamsTooShort(SonorantError):
    """A server that runs elsewhere, whose streams may not be as long as this one."""

    exit_code = 64


def long(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield the server's CPU time an audio-second in the first and in the tenth minute.

    Raises StreamsTooShort, and Unavailable, with the status, if the server ends the stream.
    """
    with conditions.serve(max_stream_seconds=_MINUTES * _MINUTE_S + 1) as target:
        model = conditions.models[0].name
        asyncio.run(_check_limit(target, model))
        progress(f"a stream of {_MINUTES} minutes")
        minutes = asyncio.run(_minutes(target, conditions.recordings, model))
        for minute in (1, _MINUTES):
            yield Row(
                "CPU, server", f"minute {minute} of a stream", 1000 * minutes[minute - 1] / _MINUTE_S, "ms/audio-s"
            )
        yield Row("minute 10 / minute 1", "CPU of a stream", minutes[-1] / max(minutes[0], 1e-9), "1")


async def _check_limit(target: Target, model: str) -> None:
    async with open_aio_channel(target.address) as channel:
        limit_s = (await ask_model(connect(channel), model)).max_stream_s
    if limit_s < _MINUTES * _MINUTE_S:
        wanted = f"serve it with --max-stream-seconds {_MINUTES * _MINUTE_S + 1:g}, or leave out --server"
        raise StreamsTooShort(f"long: {target.address} ends streams after {limit_s:g} s; {wanted}")


async def _minutes(target: Target, recordings: Sequence[Recording], model: str) -> list[float]:
    """Return the CPU seconds of each minute; the next is sent when the last is recognized, and the server idle.

    Raises Unavailable.
    """
    rate_hz, pid = recordings[0].rate_hz, target.process
    said = b"".join(recording.audio for recording in recordings)
    size = round(_MINUTE_S * rate_hz) * _SAMPLE_BYTES
    minute = (said * ceil(size / len(said)))[:size]
    chunk = round(recordings[0].chunk_s * rate_hz) * _SAMPLE_BYTES
    async with open_aio_channel(target.address) as channel:
        call = connect(channel).StreamingRecognize()
        wanted = pb.StreamingRecognitionFeatures(interim_results=True)
        opening = pb.StreamingRecognitionConfig(streaming_features=wanted)
        opening.config.model = model
        opening.config.explicit_decoding_config.sample_rate_hertz = rate_hz
        results = _Results(call)
        try:
            await call.write(pb.StreamingRecognizeRequest(streaming_config=opening))
            used = [await _idle_at_s(pid)]
            for number in range(_MINUTES):
                for at in range(0, len(minute), chunk):
                    await call.write(pb.StreamingRecognizeRequest(audio=minute[at : at + chunk]))
                await results.wait((number + 1) * _MINUTE_S - _UNHEARD_S)
                used.append(await _idle_at_s(pid))
            await call.done_writing()
            await results.reading
        except STREAM_ENDED:
            await asyncio.gather(results.reading, return_exceptions=True)
            raise await stream_error(call) from None
    return [after_s - before_s for before_s, after_s in pairwise(used)]


class _Results:
    """Reads a stream's results, and knows how much audio has been recognized."""

    def __init__(self, call: "grpc.aio.StreamStreamCall[Any, pb.StreamingRecognizeResponse]") -> None:
        self._recognized_s = 0.0
        self._news = asyncio.Event()
        self.reading = asyncio.create_task(self._read(call))
        self.reading.add_done_callback(lambda _: self._news.set())

    async def wait(self, until_s: float) -> None:
        """Wait for a result behind `until_s` of the audio, as long as there is patience: all may be silent."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                while self._recognized_s < until_s and not self.reading.done():
                    self._news.clear()
                    await self._news.wait()

    async def _read(self, call: "grpc.aio.StreamStreamCall[Any, pb.StreamingRecognizeResponse]") -> None:
        async for response in call:
            self._recognized_s = response.metadata.total_billed_duration.ToMicroseconds() / 1e6
            self._news.set()


async def _idle_at_s(pid: int) -> float:
    """Wait until a process is idle; return the CPU seconds that it has used."""
    used_s, looks = usage.cpu_s(pid), 0
    while looks < _LOOKS:
        await asyncio.sleep(_LOOK_S)
        before_s, used_s = used_s, usage.cpu_s(pid)
        looks = looks + 1 if used_s - before_s <= _IDLE_S else 0
    return used_s
