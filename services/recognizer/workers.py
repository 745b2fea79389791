"""Worker threads that compute what streams wait for: all that is due when a worker is free shares calls of a model.

There is no batching delay: with few streams a call has one; the more streams, the more are due when it ends.
"""

import asyncio
import threading
from collections.abc import Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from sonorant.serving.steps import Done, Steps, together

__all__ = ["Workers"]

_MOST = 32  # computations in one round: more would only make their streams wait for each other

_T = TypeVar("_T")


class _Job(NamedTuple):
    steps: Steps[Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Workers:
    """Threads that run computations to their ends, in the order in which they came."""

    def __init__(self, threads: int) -> None:
        self._due: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"recognize_{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, steps: Steps[_T]) -> _T:
        """Return the result of a computation; raises its error. A computation that is cancelled may still be run."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._due.put(_Job(steps, future, loop))
        return await future

    def shutdown(self) -> None:
        """End the threads after all that is due."""
        for _ in self._threads:
            self._due.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        job: _Job | None
        while (job := self._due.get()) is not None:
            jobs = [job]
            with suppress(Empty):
                while len(jobs) < _MOST and (job := self._due.get_nowait()) is not None:
                    jobs.append(job)
            _tell(jobs, together([job.steps for job in jobs]))
            if job is None:
                return


def _tell(jobs: Iterable[_Job], outcomes: Iterable[Done]) -> None:
    """Give each future its outcome, on its event loop, in one call for all of a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Done]]] = {}
    for job, done in zip(jobs, outcomes, strict=True):
        loops.setdefault(job.loop, []).append((job.future, done))
    for loop, settled in loops.items():
        loop.call_soon_threadsafe(_settle, settled)


def _settle(settled: Iterable[tuple[asyncio.Future[Any], Done]]) -> None:
    for future, done in settled:
        if future.done():  # its client has gone
            continue
        if done.error is not None:
            future.set_exception(done.error)
        else:
            future.set_result(done.result)
