"""Rate limit for log lines about an outage: its begin, its end, and seldom in between."""

import threading

from services.process.backoff import Backoff

__all__ = ["Outage"]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 300.0


class Outage:
    """Selects failures to log: the first, and then after pauses that double, up to five minutes.

    Times are those of the caller's monotonic clock, in seconds. Any thread may call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since_s: float | None = None
        self._due_s = 0.0
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)

    @property
    def lasts(self) -> bool:
        """Whether the latest result is a failure."""
        return self._since_s is not None

    def failed(self, now: float) -> bool:
        """Note a failure; return whether to log it."""
        with self._lock:
            if self._since_s is None:
                self._since_s = now
                self._backoff.reset()
            elif now < self._due_s:
                return False
            self._due_s = now + self._backoff.pause_s()
            return True

    def ended(self, now: float) -> float | None:
        """Note a success; return how long it was away if this is the first after a failure, else None."""
        with self._lock:
            since_s, self._since_s = self._since_s, None
            return None if since_s is None else now - since_s
