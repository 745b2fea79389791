"""Transient errors of the machine, such as an absent volume: when to try again, and until when."""

from services.process.backoff import Backoff

__all__ = ["Trouble"]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 1.0


class Trouble:
    """Allows another try after pauses that double, up to a second, up to `patience_s` after the first failure.

    Times are those of the caller's monotonic clock, in seconds.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._since_s: float | None = None
        self._due_s = float("-inf")
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)

    @property
    def lasts(self) -> bool:
        """Whether the latest try failed."""
        return self._since_s is not None

    def due(self, now: float) -> bool:
        """Whether it is time for a try."""
        return now >= self._due_s

    def failed(self, now: float) -> bool:
        """Note that a try failed; return whether there is to be another."""
        if self._since_s is None:
            self._since_s = now
            self._backoff.reset()
        self._due_s = now + self._backoff.pause_s()
        return now < self._since_s + self._patience_s

    def passed(self, now: float) -> float:
        """Note that a try succeeded; return how long it had failed."""
        lasted_s = 0.0 if self._since_s is None else now - self._since_s
        self._since_s, self._due_s = None, float("-inf")
        return lasted_s
