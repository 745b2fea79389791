"""An event loop that clients of several loads share."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

__all__ = ["event_loop"]


@contextmanager
def event_loop() -> Iterator[asyncio.Runner]:
    """Yield a loop in which grpc.aio goes on: its end, with a loop's last channel, sometimes waits for ever."""

    async def begin() -> None:
        grpc.aio.init_grpc_aio()

    with asyncio.Runner() as runner:
        runner.run(begin())
        yield runner
