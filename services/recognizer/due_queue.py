"""A queue in the order of time: what is due, and room for what is not."""

import heapq
import math
import threading
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

__all__ = ["DueQueue"]

_T = TypeVar("_T")


class DueQueue(Generic[_T]):
    """Items by the time at which they are due, first come, first served among equals; for many threads.

    Within a batching delay an item is not taken yet, unless it is urgent: others may come that share its computation.
    A thread that waits for the delay's end is not woken by each of them.

    most: items of one `take`, at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, bool, _T]] = []
        self._numbers = count()
        self._urgent = 0
        self._delayed_until_s = -math.inf
        self._filled = threading.Condition(threading.Lock())
        self._closed = False

    def put(self, due_s: float, item: _T, *, urgent: bool = True) -> None:
        """Add an item."""
        with self._filled:
            heapq.heappush(self._heap, (due_s, next(self._numbers), urgent, item))
            self._urgent += urgent
            if urgent or len(self._heap) in (1, self._most):  # the first begins a wait for the delay's end
                self._filled.notify()

    def delay(self, until_s: float) -> None:
        """Delay until then, on the clock of `take`, or until there is an urgent item, or `most`; call `take` next."""
        with self._filled:
            self._delayed_until_s = until_s

    def close(self) -> None:
        """Let `take` return nothing once all is taken."""
        with self._filled:
            self._closed = True
            self._filled.notify_all()

    def take(self, most_ahead: int, takers: int, clock: Callable[[], float]) -> list[_T]:
        """Wait for an item, and return this taker's share of those that are there; none at the end.

        most_ahead: bounds the items that are not due yet.
        """
        with self._filled:
            while (wait_s := self._wait_s(clock)) is None or wait_s > 0:
                self._filled.wait(wait_s)
            share = min(self._most, -(-len(self._heap) // takers))
            taken: list[_T] = []
            now_s, ahead = clock(), 0
            while len(taken) < share:
                ahead += self._heap[0][0] > now_s
                if ahead > most_ahead:
                    break
                _, _, urgent, item = heapq.heappop(self._heap)
                self._urgent -= urgent
                taken.append(item)
            if self._heap:  # the rest is another taker's, which may wait for an item, or for the end of the delay
                self._filled.notify()
            return taken

    def _wait_s(self, clock: Callable[[], float]) -> float | None:
        """Return the seconds until something may be taken; None: until there is an item."""
        if self._closed:
            return 0.0
        if not self._heap:
            return None
        return 0.0 if self._urgent or len(self._heap) >= self._most else self._delayed_until_s - clock()
