"""Examples of later epochs."""

from collections import defaultdict

from sonorant.training.pool import Labelled

__all__ = ["EarlyExamples"]


class EarlyExamples:
    """Keeps examples that arrive before their epoch begins."""

    def __init__(self) -> None:
        self._by_epoch: defaultdict[int, list[Labelled]] = defaultdict(list)

    def __len__(self) -> int:
        """Examples of all later epochs."""
        return sum(map(len, self._by_epoch.values()))

    def keep(self, item: Labelled) -> None:
        """Add an example of a later epoch."""
        self._by_epoch[item.lineage.epoch].append(item)

    def pop(self, epoch: int) -> list[Labelled]:
        """Remove and return the examples of an epoch, in the order of their arrival."""
        return self._by_epoch.pop(epoch, [])
