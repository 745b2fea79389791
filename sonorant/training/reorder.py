"""A reorder buffer: what arrives in any order leaves in a given one, as a state machine without threads."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

__all__ = ["ReorderBuffer"]

Item = TypeVar("Item")


class ReorderBuffer(Generic[Item]):
    """Holds items by ordinal until all before them in `order` have left or were skipped.

    order: every ordinal that can come, once each.
    """

    def __init__(self, order: Iterable[int]) -> None:
        self._order: Iterator[int] = iter(order)
        self._line: deque[int] = deque()  # ordinals already taken from the order that have not left
        self._items: dict[int, Item] = {}
        self._skipped: set[int] = set()

    def __len__(self) -> int:
        """Return the number of items that wait."""
        return len(self._items)

    @property
    def over(self) -> bool:
        """Whether everything has left or was skipped."""
        return not self._look(1)

    def add(self, ordinal: int, item: Item) -> None:
        """Add an item, once; a skipped one is dropped."""
        if ordinal not in self._skipped:
            self._items[ordinal] = item

    def skip(self, ordinals: Sequence[int]) -> None:
        """Note that these will never arrive."""
        self._skipped.update(ordinals)
        for ordinal in ordinals:
            self._items.pop(ordinal, None)

    def pop(self) -> Item | None:
        """Remove and return the next item in the order; None if it has not arrived."""
        ahead = self._look(1)
        if not ahead or ahead[0] not in self._items:
            return None
        while self._line.popleft() != ahead[0]:
            pass  # skipped
        return self._items.pop(ahead[0])

    def missing(self, most: int) -> list[int]:
        """Return which of the next `most` ordinals have not arrived; empty if the next one has."""
        ahead = self._look(most)
        if not ahead or ahead[0] in self._items:
            return []
        return [ordinal for ordinal in ahead if ordinal not in self._items]

    def _look(self, count: int) -> list[int]:
        """Return the next `count` ordinals that were not skipped, fewer at the end."""
        ahead: list[int] = []
        at = 0
        while len(ahead) < count:
            if at == len(self._line):
                if (following := next(self._order, None)) is None:
                    break
                self._line.append(following)
            if self._line[at] not in self._skipped:
                ahead.append(self._line[at])
            at += 1
        return ahead
