"""Worker threads that compute what streams wait for: all that is due when a worker is free shares calls of a model.

Each round costs something, however few share it. So after a round comes a batching delay, half as long as the round, in
which more becomes due; with few streams nothing is due in it, and nothing is delayed.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from services.recognizer.due_queue import DueQueue
from sonorant.serving.lag import AHEAD_S
from sonorant.serving.steps import Done, Steps, together

__all__ = ["MOST_JOBS", "Measured", "Workers"]

MOST_JOBS = 32  # computations in one round: more would only make their streams wait for each other
_DELAY, _LONGEST_DELAY_S = 0.5, 0.02  # times a round's duration: below full rounds, workers rest a third of the time
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


class Workers:
    """Threads that run computations to their ends, in the order in which they are due.

    measured: called for each round.
    """

    def __init__(self, threads: int, measured: Measured = lambda *_: None) -> None:
        self._queue: DueQueue[_Job] = DueQueue(MOST_JOBS)
        self._measured = measured
        self._threads = [
            threading.Thread(target=self._work, name=f"recognize_{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, steps: Steps[_T], due_s: float | None = None, audio_s: Callable[[], float] = _no_audio) -> _T:
        """Return the result of a computation; raises its error. One that is cancelled is not begun any more.

        due_s: on the clock `time.monotonic`; one that is due later runs earlier if nothing else is due, and if it is
        due much later, without a batching delay. None: at once, without one. audio_s: returns the seconds of audio that
        its model has had, before and after the computation.
        """
        loop, now_s = asyncio.get_running_loop(), time.monotonic()
        future: asyncio.Future[_T] = loop.create_future()
        job = _Job(steps, audio_s, future, loop)
        live = due_s is not None and due_s - now_s <= AHEAD_S
        self._queue.put(now_s if due_s is None else due_s, job, urgent=not live)
        return await future

    def shutdown(self) -> None:
        """End the threads after all that is due."""
        self._queue.close()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while jobs := self._queue.take(_MOST_AHEAD, len(self._threads), time.monotonic):
            if left := [job for job in jobs if not job.future.cancelled()]:
                self._round(left)
            del jobs, left  # a session that has ended must not keep its model until the next round

    def _round(self, jobs: Sequence[_Job]) -> None:
        began_s = time.monotonic()
        before_s = [job.audio_s() for job in jobs]
        outcomes = _outcomes([job.steps for job in jobs])
        heard_s = [job.audio_s() - before for job, before in zip(jobs, before_s, strict=True)]
        ended_s = time.monotonic()
        took_s = ended_s - began_s
        self._queue.delay(began_s + (took_s + min(_DELAY * took_s, _LONGEST_DELAY_S)) / len(self._threads))
        counted = sum(seconds > 0 for seconds in heard_s)
        if counted or any(job.audio_s is _no_audio for job in jobs):  # what gave the model nothing tells no cost
            with suppress(RuntimeError):  # the loop has ended
                jobs[0].loop.call_soon_threadsafe(self._measured, ended_s, counted, sum(heard_s), took_s)
        _settle(jobs, outcomes)


def _outcomes(computations: Sequence[Steps[Any]]) -> list[Done]:
    """Return how each computation ended; all that are left have the error of a model that breaks its contract."""
    ended: dict[int, Done] = {}
    try:
        ended.update(together(computations))
    except Exception as error:  # no stream may wait for ever
        broken = Done(error=error)
        return [ended.get(number, broken) for number in range(len(computations))]
    return [ended[number] for number in range(len(computations))]


def _settle(jobs: Sequence[_Job], outcomes: Sequence[Done]) -> None:
    """Give futures their outcomes, in one turn of their event loop, which may have ended."""
    for loop in dict.fromkeys(job.loop for job in jobs):
        own = [(job.future, done) for job, done in zip(jobs, outcomes, strict=True) if job.loop is loop]
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_set, own)


def _set(settled: Sequence[tuple[asyncio.Future[Any], Done]]) -> None:
    for future, done in settled:
        if future.done():  # its client has gone
            continue
        if done.error is not None:
            future.set_exception(done.error)
        else:
            future.set_result(done.result)
