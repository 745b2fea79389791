"""Ends a process whose main loop hangs, where no liveness probe would."""

import os
import sys
import threading
import time
from collections.abc import Callable
from traceback import format_stack

import structlog

__all__ = ["Watchdog", "where_main_is"]

log = structlog.get_logger()

_EXIT_AGAIN = 75  # EX_TEMPFAIL: the same command goes on


class Watchdog:
    """Ends the process with exit code 75 when an iteration of its loop takes longer than `max_iteration_s`.

    Example: `with Watchdog(600) as watchdog: train(watchdog.iterated)`. It is a thread: a loop that hangs while it
    holds Python's lock is not ended. None: no limit. No limit holds before the first iteration. clock: seconds,
    monotonic; it is read at least ten times in `max_iteration_s`.
    """

    def __init__(self, max_iteration_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_iteration_s = float("inf") if max_iteration_s is None else max_iteration_s
        self._clock = clock
        self._iterated_s = float("inf")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def iterated(self) -> None:
        """Note an iteration of the loop."""
        self._iterated_s = self._clock()

    def _watch(self) -> None:
        while not self._over.wait(min(1.0, self._max_iteration_s / 10)):
            stood_still_s = self._clock() - self._iterated_s
            if stood_still_s > self._max_iteration_s:
                log.error("main_loop_hangs", since_s=round(stood_still_s, 1), at=where_main_is())
                os._exit(_EXIT_AGAIN)


def where_main_is() -> list[str]:
    """Return the main thread's stack as lines of a traceback."""
    main = threading.main_thread().ident
    return [line for thread, frame in sys._current_frames().items() if thread == main for line in format_stack(frame)]
