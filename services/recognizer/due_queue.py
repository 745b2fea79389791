"""A queue in the order of time: what is due, and room for what is not."""

import heapq
import threading
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

__all__ = ["DueQueue"]

_T = TypeVar("_T")


class DueQueue(Generic[_T]):
    """Items by the time at which they are due, first come, first served among equals; for many threads."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, _T]] = []
        self._numbers = count()
        self._filled = threading.Condition(threading.Lock())
        self._closed = False

    def put(self, due_s: float, item: _T) -> None:
        """Add an item."""
        with self._filled:
            heapq.heappush(self._heap, (due_s, next(self._numbers), item))
            self._filled.notify()

    def close(self) -> None:
        """Let `take` return nothing once all is taken."""
        with self._filled:
            self._closed = True
            self._filled.notify_all()

    def take(self, most: int, most_ahead: int, takers: int, clock: Callable[[], float]) -> list[_T]:
        """Wait for an item, and return this taker's share of those that are there, at most `most`; none at the end.

        most_ahead: bounds the items that are not due yet.
        """
        with self._filled:
            while not self._heap:
                if self._closed:
                    return []
                self._filled.wait()
            share = min(most, -(-len(self._heap) // takers))
            taken: list[_T] = []
            now_s, ahead = clock(), 0
            while len(taken) < share:
                ahead += self._heap[0][0] > now_s
                if ahead > most_ahead:
                    break
                taken.append(heapq.heappop(self._heap)[2])
            return taken
