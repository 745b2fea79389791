"""Tells that streams wait for a recognizer's capacity: a line where a wait begins, another for as long as it lasts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["CapacityWaits"]


class CapacityWaits:
    """The streams that wait between two tries; it is what `stream_recording` takes as `waits`.

    say: called with a line where a wait begins. Waits that overlap are one, and so are a stream's between its tries.
    clock: of the event loop, in seconds.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._waiting: list[tuple[float, str]] = []  # since when, and the recognizer's reason
        self._ended_s = float("-inf")

    @contextmanager
    def __call__(self, reason: str, since_s: float) -> Iterator[None]:
        """Count a stream that has waited since `since_s` among those that wait, while the context lasts."""
        if not self._waiting and since_s >= self._ended_s:
            self._say(f"the recognizer has no capacity: {reason}")
        wait = since_s, reason
        self._waiting.append(wait)
        try:
            yield
        finally:
            self._waiting.remove(wait)
            self._ended_s = self._clock()

    @property
    def line(self) -> str:
        """How many streams wait, for how long at most, and why; empty: none does."""
        waiting = list(self._waiting)  # another thread draws the line
        if not waiting:
            return ""
        since_s, reason = min(waiting)
        return f"waiting {self._clock() - since_s:.0f} s for capacity, streams: {len(waiting)}: {reason}"
