"""Worker threads that compute what streams wait for: all that is due when a worker is free shares calls of a model.

There is no batching delay: with few streams a call has one; the more streams, the more are due when it ends.
"""

import asyncio
import threading
from collections.abc import Sequence
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

    def settle(self, done: Done) -> None:
        """Give the future its outcome, on its event loop, which may have ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(_settle, self.future, done)


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
        """Return the result of a computation; raises its error. One that is cancelled is not begun any more."""
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
            share = min(_MOST, -(-(1 + self._due.qsize()) // len(self._threads)))  # the rest is for other workers
            with suppress(Empty):
                while len(jobs) < share and (job := self._due.get_nowait()) is not None:
                    jobs.append(job)
            _run([one for one in jobs if not one.future.cancelled()])
            if job is None:
                return


def _run(jobs: Sequence[_Job]) -> None:
    left = dict(enumerate(jobs))
    try:
        for number, done in together([job.steps for job in jobs]):
            left.pop(number).settle(done)
    except Exception as error:  # of a model that breaks its contract: no stream may wait for ever
        for job in left.values():
            job.settle(Done(error=error))


def _settle(future: asyncio.Future[Any], done: Done) -> None:
    if future.done():  # its client has gone
        return
    if done.error is not None:
        future.set_exception(done.error)
    else:
        future.set_result(done.result)
