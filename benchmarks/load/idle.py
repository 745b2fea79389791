"""Preset `idle`: the memory of streams that are open and silent."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

from benchmarks.load import usage
from benchmarks.load.experiment import Conditions, Results
from benchmarks.load.open_stream import open_stream
from benchmarks.load.recordings import Recording
from benchmarks.load.server import Target
from benchmarks.row import Progress, Row
from services.process.channels import open_aio_channel
from sonorant.errors import Unavailable

__all__ = ["idle"]

_STREAMS = 200
_ROOMY = {"slo_ms": 60_000, "threads": 16}  # so that all are admitted, as if a core could carry them
_SETTLE_S = 2.0
_KIB = 1024


def idle(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield the server's memory with no streams and with many, the difference for each, and the refused ones, if any.

    Each stream has said a recording, and says no more. Raises Unavailable, with the status, if the first is refused.
    """
    streams = (conditions.streams or (_STREAMS,))[0]
    with conditions.serve(**_ROOMY) as target:
        progress(f"{streams} idle streams")
        before, with_streams, opened = asyncio.run(
            _measure(target, conditions.recordings[0], streams, conditions.models[0].name)
        )
        if opened < streams:
            yield Row("refused", f"of {streams} streams", streams - opened, "streams")
        yield Row("memory", "no streams", before / _KIB, "KiB")
        yield Row("memory", f"{opened} idle streams", with_streams / _KIB, "KiB")
        yield Row("memory, each", f"{opened} idle streams", (with_streams - before) / _KIB / max(1, opened), "KiB")


async def _measure(target: Target, recording: Recording, streams: int, model: str) -> tuple[int, int, int]:
    """Return resident bytes with no streams and with all that were opened, and their number."""
    async with open_aio_channel(target.address) as channel:
        first = await open_stream(channel, recording, model)  # what a first stream loads is none of the others'
        first.cancel()
        await asyncio.sleep(_SETTLE_S)
        pid = target.process
        before = usage.rss_bytes(pid)
        opened = []
        for _ in range(streams):
            with suppress(Unavailable):
                opened.append(await open_stream(channel, recording, model))
        await asyncio.sleep(_SETTLE_S)
        after = usage.rss_bytes(pid)
        for call in opened:
            call.cancel()
    return before, after, len(opened)
