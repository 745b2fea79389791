"""Exponential back-off: how long to pause before the next try."""

__all__ = ["Backoff"]


class Backoff:
    """Pauses in seconds that double from the first to the longest; the caller waits."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = self._next_s = min(first_s, longest_s)
        self._longest_s = longest_s

    @property
    def next_s(self) -> float:
        """The next pause."""
        return self._next_s

    def pause_s(self) -> float:
        """Return the pause to make now; the one after it is twice as long, up to the longest."""
        pause_s, self._next_s = self._next_s, min(2 * self._next_s, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """Begin anew: a try has succeeded."""
        self._next_s = self._first_s
