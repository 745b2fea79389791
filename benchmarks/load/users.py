"""Preset `users`: the experiment of a thesis on serving recognizers, chapter 6, sections 1 and 2.

The whole data set is sent, recording by recording, by 1, 2, 4, … users, each of whom sends the next one when the last
is answered; latency is a request's, and throughput the duration of all recordings / the time for all of them (Eq. 6.1):
so many users could speak in real time. The thesis went to 512 users, and found 40 on 24 logical cores. Here a user who
is refused waits as the recognizer says, which counts to no latency but takes its time.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

import grpc

from benchmarks.load import usage
from benchmarks.load.event_loop import event_loop
from benchmarks.load.experiment import Conditions, Results
from benchmarks.load.latency import percentile
from benchmarks.load.recordings import Recording
from benchmarks.rigs.process import Child
from benchmarks.row import Progress, Row
from services.process.channels import open_aio_channel
from services.recognizer_client.client import connect
from services.recognizer_client.retrying import retry_delay_s
from sonorant.errors import Unavailable
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["Batch", "request", "users"]

_USERS = tuple(2**power for power in range(10))
_THESIS = 40.0  # on 24 logical cores (its section 6.2)
_REQUESTS = 64  # at least; a user sends two
_PATIENCE_S = 600.0
_GAIN = 1.05  # of throughput, by which a doubling must be worth it: beyond the bottleneck the thesis found none
_QUARTILES = (("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p95", 0.95))


class Batch(NamedTuple):
    """Latencies of requests, how many were refused, the audio in all, and how long all took, in seconds."""

    latencies_s: list[float]
    refused: int
    audio_s: float
    took_s: float


def users(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield latency and throughput for each number of users, until throughput no longer grows.

    Raises Unavailable if the recognizer has no room for them for ten minutes.
    """
    best, flat = 0.0, 0
    name = conditions.models[0].name
    with (
        conditions.serve() as target,
        Child(request, target.address, conditions.recordings, target.client_cores, name) as child,
    ):
        for count in conditions.streams or _USERS:
            progress(f"{count} users")
            before_s = None if target.pid is None else usage.cpu_s(target.pid)
            child.send(count)
            batch = _received(child, count)
            throughput = batch.audio_s / batch.took_s
            quartiles = {each: 1000 * percentile(batch.latencies_s, share) for each, share in _QUARTILES}
            results.users.append({"users": count, "throughput": throughput, "refused": batch.refused, **quartiles})
            case = f"{count} users"
            yield from (Row("request", case, value, f"ms ({each})") for each, value in quartiles.items())
            yield Row("throughput", case, throughput, "audio-s/s")
            yield Row("refused", case, batch.refused, "tries")
            if before_s is not None and target.pid is not None:
                used = 1000 * (usage.cpu_s(target.pid) - before_s) / batch.audio_s
                yield Row("CPU, server", case, used, "ms/audio-s")
            flat = 0 if throughput > _GAIN * best else flat + 1
            best = max(best, throughput)
            if not conditions.streams and flat == 2:
                break
    yield Row("users", "in real time, as throughput", best, "audio-s/s", "thesis, 24 cores", _THESIS)


def _received(child: Child, count: int) -> Batch:
    try:
        batch: Batch = child.receive(_PATIENCE_S)
    except TimeoutError:
        raise Unavailable(f"{count} users: not all were answered within {_PATIENCE_S:g} s") from None
    return batch


def request(
    connection: Connection, address: str, recordings: Sequence[Recording], cores: Sequence[int], model: str
) -> None:
    """Answer each message, a number of users, with their `Batch`."""
    os.sched_setaffinity(0, cores)
    with event_loop() as loop:
        while (count := connection.recv()) is not None:
            connection.send(loop.run(_batch(address, recordings, model, count)))


async def _batch(address: str, recordings: Sequence[Recording], model: str, count: int) -> Batch:
    each = -(-max(2 * count, _REQUESTS) // len(recordings))
    queue = iter(list(recordings) * each)
    latencies_s: list[float] = []
    refused = 0
    async with open_aio_channel(address) as channel:
        stub = connect(channel)

        async def user() -> None:
            nonlocal refused
            for recording in queue:
                config = pb.RecognitionConfig(model=model)
                config.explicit_decoding_config.encoding = pb.ExplicitDecodingConfig.LINEAR16
                config.explicit_decoding_config.sample_rate_hertz = recording.rate_hz
                while True:
                    sent_s = time.monotonic()
                    try:
                        await stub.Recognize(pb.RecognizeRequest(config=config, content=recording.audio))
                        break
                    except grpc.aio.AioRpcError as error:
                        if (wait_s := retry_delay_s(error)) is None:
                            raise
                        refused += 1
                        await asyncio.sleep(wait_s)
                latencies_s.append(time.monotonic() - sent_s)

        began_s = time.monotonic()
        await asyncio.gather(*(user() for _ in range(count)))
    return Batch(latencies_s, refused, each * sum(one.duration_s for one in recordings), time.monotonic() - began_s)
