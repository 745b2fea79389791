"""Worker threads that compute what streams wait for: all that is due when a worker is free shares calls of a model.

There is no batching delay: with few streams a call has one; the more streams, the more are due when it ends.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from services.recognizer.due_queue import DueQueue
from sonorant.serving.steps import Done, Steps, together

__all__ = ["MOST_JOBS", "Measured", "Workers"]

MOST_JOBS = 32  # computations in one round: more would only make their streams wait for each other
_MOST_AHEAD = 16  # of audio that is sent faster than it is spoken: what becomes due waits for their round

_T = TypeVar("_T")

Measured = Callable[[float, int, float, float], None]
"""Called in the event loop for each round: when it ended, its jobs, seconds of audio in them, and how long it took."""


def _no_audio() -> float:
    return 0.0


class _Job(NamedTuple):
    steps: Steps[Any]
    audio_s: Callable[[], float]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop

    def settle(self, done: Done) -> None:
        """Give the future its outcome, on its event loop, which may have ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(_settle, self.future, done)


class Workers:
    """Threads that run computations to their ends, in the order in which they are due.

    measured: called for each round.
    """

    def __init__(self, threads: int, measured: Measured = lambda *_: None) -> None:
        self._queue: DueQueue[_Job] = DueQueue()
        self._measured = measured
        self._threads = [
            threading.Thread(target=self._work, name=f"recognize_{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, steps: Steps[_T], due_s: float | None = None, audio_s: Callable[[], float] = _no_audio) -> _T:
        """Return the result of a computation; raises its error. One that is cancelled is not begun any more.

        due_s: on the clock `time.monotonic`; None: now. One that is due later runs earlier if nothing else is due.
        audio_s: returns the seconds of audio that its model has had, before and after the computation.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._queue.put(time.monotonic() if due_s is None else due_s, _Job(steps, audio_s, future, loop))
        return await future

    def shutdown(self) -> None:
        """End the threads after all that is due."""
        self._queue.close()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while jobs := self._queue.take(MOST_JOBS, _MOST_AHEAD, len(self._threads), time.monotonic):
            if left := [job for job in jobs if not job.future.cancelled()]:
                self._round(left)
            del jobs, left  # a session that has ended must not keep its model until the next round

    def _round(self, jobs: Sequence[_Job]) -> None:
        began_s = time.monotonic()

        def ended(heard_s: Sequence[float]) -> None:
            ended_s = time.monotonic()
            counted = sum(seconds > 0 for seconds in heard_s)
            if counted or any(job.audio_s is _no_audio for job in jobs):  # what gave the model nothing tells no cost
                with suppress(RuntimeError):  # the loop has ended
                    jobs[0].loop.call_soon_threadsafe(self._measured, ended_s, counted, sum(heard_s), ended_s - began_s)

        _run(jobs, ended)


def _run(jobs: Sequence[_Job], ended: Callable[[Sequence[float]], None]) -> None:
    """Run computations to their ends, and settle each; ended: called before the last, with the audio of each.

    The seconds of audio in a computation are read before its stream may go on.
    """
    left = dict(enumerate(jobs))
    before_s = [job.audio_s() for job in jobs]
    heard_s = [0.0] * len(jobs)
    try:
        for number, done in together([job.steps for job in jobs]):
            job = left.pop(number)
            heard_s[number] = job.audio_s() - before_s[number]
            if not left:
                ended(heard_s)
            job.settle(done)
    except Exception as error:  # of a model that breaks its contract: no stream may wait for ever
        ended(heard_s)
        for job in left.values():
            job.settle(Done(error=error))


def _settle(future: asyncio.Future[Any], done: Done) -> None:
    if future.done():  # its client has gone
        return
    if done.error is not None:
        future.set_exception(done.error)
    else:
        future.set_result(done.result)
