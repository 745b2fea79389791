"""Preset `leaks`: what is left of clients that connect, stream and vanish: memory, descriptors and threads."""

import asyncio
from collections.abc import Iterator

from benchmarks.load import usage
from benchmarks.load.experiment import Conditions, Results
from benchmarks.load.open_stream import open_stream
from benchmarks.load.recordings import Recording
from benchmarks.row import Progress, Row
from services.process.channels import open_aio_channel

__all__ = ["leaks"]

_CYCLES = 10_000
_WARM = 0.2  # share of the cycles before the first look: caches fill, and the allocator's pools grow
_AT_ONCE = 8
_SETTLE_S = 5.0
_ROOMY = {"slo_ms": 60_000}  # so that all are admitted
_MIB = 1 << 20
_OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


def leaks(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield what the server holds after a fifth of the cycles and after all; raises Unavailable if a stream is refused.

    A client of each cycle has a connection of its own, sends a recording, reads that its speech has begun, and goes.
    """
    cycles = (conditions.streams or (_CYCLES,))[0]
    warm = max(1, round(_WARM * cycles))
    with conditions.serve(**_ROOMY) as target:
        pid, recording, model = target.process, conditions.recordings[0], conditions.models[0].name
        for count, case in ((warm, f"after {warm} cycles"), (max(1, cycles - warm), f"after {cycles} cycles")):
            progress(f"{count} cycles")
            asyncio.run(_cycles(target.address, recording, model, count))
            yield Row("memory", case, usage.rss_bytes(pid) / _MIB, "MiB")
            yield Row("descriptors", case, usage.descriptors(pid), "open")
            yield Row("threads", case, usage.threads(pid), "alive")


async def _cycles(address: str, recording: Recording, model: str, count: int) -> None:
    left = iter(range(count))

    async def client() -> None:
        for _ in left:
            await _cycle(address, recording, model)

    await asyncio.gather(*(client() for _ in range(_AT_ONCE)))
    await asyncio.sleep(_SETTLE_S)


async def _cycle(address: str, recording: Recording, model: str) -> None:
    async with open_aio_channel(address, _OWN_CONNECTION) as channel:
        await open_stream(channel, recording, model)
