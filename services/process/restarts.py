"""Restarts of a process: how many, and after which pause."""

from collections import deque

from services.process.backoff import backoff_s

__all__ = ["FINAL_CODES", "RestartPolicy"]

FINAL_CODES = frozenset({65, 70, 78})
"""Exit codes that a restart cannot mend: bad data, a bug or non-finite loss, a bad recipe (sysexits.h)."""


class RestartPolicy:
    """Allows `most` restarts within `window_s`, or without progress.

    The pause before each doubles from `first_pause_s` to `last_pause_s`. Times: the caller's monotonic clock, in s.
    """

    def __init__(
        self, most: int = 8, window_s: float = 60.0, first_pause_s: float = 0.1, last_pause_s: float = 3.0
    ) -> None:
        self._most = most
        self._window_s = window_s
        self._first_pause_s = first_pause_s
        self._last_pause_s = last_pause_s
        self._ends: deque[tuple[float, str]] = deque()
        self.limit = ""
        """The limit that was exceeded, once `ended` has returned None."""

    def ended(self, now: float, progress: str = "") -> float | None:
        """Note that the process ended; return the pause before it is started again, None to give up.

        progress: the point that its work has reached, such as a checkpoint, worded to follow "since". Ends without any
        since count however long ago they are: a process that dies again and again at the same point has no window to
        outlast. Empty: no measure of progress.
        """
        while self._ends and not self._counts(*self._ends[0], now, progress):
            self._ends.popleft()
        if len(self._ends) == self._most:
            self.limit = self._exceeded(progress)
            return None
        self._ends.append((now, progress))
        return backoff_s(len(self._ends) - 1, self._first_pause_s, self._last_pause_s)

    def _counts(self, end: float, progress_then: str, now: float, progress: str) -> bool:
        return end > now - self._window_s or (progress != "" and progress_then == progress)

    def _exceeded(self, progress: str) -> str:
        ends = self._most + 1
        if progress and all(then == progress for _, then in self._ends):
            return f"{ends} ends without progress since {progress}"
        return f"{ends} ends within {self._window_s:g} s"
