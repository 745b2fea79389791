"""Exponential back-off: how long to pause before the next try."""

__all__ = ["Backoff", "backoff_s"]

_MOST_DOUBLINGS = 64  # far beyond any longest pause


def backoff_s(earlier: int, first_s: float, longest_s: float) -> float:
    """Return the pause after `earlier` pauses: doubled each time from the first, up to the longest."""
    return min(first_s * 2.0 ** min(earlier, _MOST_DOUBLINGS), longest_s)


class Backoff:
    """Pauses in seconds that double from the first to the longest; the caller waits."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._earlier = 0

    @property
    def next_s(self) -> float:
        """The next pause."""
        return backoff_s(self._earlier, self._first_s, self._longest_s)

    def pause_s(self) -> float:
        """Return the pause to make now; the one after it is twice as long, up to the longest."""
        pause_s = self.next_s
        self._earlier += 1
        return pause_s

    def reset(self) -> None:
        """Begin anew: a try has succeeded."""
        self._earlier = 0
