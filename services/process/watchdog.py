"""Ends a process whose main loop stands still, where nobody else can see that it does."""

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
    """Ends the process with exit code 75 once its loop, having turned, does not turn again for `longest_turn_s`.

    Example: `with Watchdog(600) as watchdog: train(watchdog.turned)`. It is a thread: a loop that hangs with Python's
    lock in its hands stays. None: there is no limit. clock: seconds, monotonic; it is read at least ten times in
    `longest_turn_s`.
    """

    def __init__(self, longest_turn_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_turn_s = float("inf") if longest_turn_s is None else longest_turn_s
        self._clock = clock
        self._turned_s = float("inf")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def turned(self) -> None:
        """Note an iteration of the loop."""
        self._turned_s = self._clock()

    def _watch(self) -> None:
        while not self._over.wait(min(1.0, self._longest_turn_s / 10)):
            stood_still_s = self._clock() - self._turned_s
            if stood_still_s > self._longest_turn_s:
                log.error("main_loop_hangs", since_s=round(stood_still_s, 1), at=where_main_is())
                os._exit(_EXIT_AGAIN)


def where_main_is() -> list[str]:
    """Return the lines of a traceback that tell where the main thread is."""
    main = threading.main_thread().ident
    return [line for thread, frame in sys._current_frames().items() if thread == main for line in format_stack(frame)]
