"""A pool of examples from which batches of similar length are drawn."""

import bisect
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sonorant.arrays import Features, IntArray
from sonorant.delivery.example import Lineage
from sonorant.randomness import generator

__all__ = ["Labelled", "Pool"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """An example ready for training.

    features: Float32[frames, bins]; targets: its objective's, Int64[length] each, by name.
    """

    lineage: Lineage
    ordinal: int
    utterance: str
    features: Features
    targets: Mapping[str, IntArray]
    duration_s: float

    @property
    def frames(self) -> int:
        """Length of the features."""
        return len(self.features)


class Pool:
    """Examples of one epoch, sorted by length.

    A batch is a random example with its neighbours in length: little padding, yet every example may come at any
    time. The draw depends only on the pool's content and (seed, epoch, rank, number of the batch).
    batch_vectors: most vectors in a batch, padding counted; 0: any number.
    """

    def __init__(self, batch_examples: int, batch_vectors: int, seed: int, rank: int) -> None:
        self._batch_examples = batch_examples
        self._batch_vectors = batch_vectors or sys.maxsize
        self._seed = seed
        self._rank = rank
        self._sorted: list[Labelled] = []
        self._ordinals: set[int] = set()

    def __len__(self) -> int:
        return len(self._sorted)

    def items(self) -> list[Labelled]:
        """Return the content, shortest first."""
        return list(self._sorted)

    def add(self, item: Labelled) -> None:
        """Add an example; a duplicate of one in the pool is dropped."""
        if item.ordinal not in self._ordinals:
            self._ordinals.add(item.ordinal)
            bisect.insort(self._sorted, item, key=lambda i: (i.frames, i.ordinal))

    def draw(self, epoch: int, number: int) -> list[Labelled]:
        """Remove and return batch `number` of the epoch.

        `batch_examples` of them, or all if fewer are left; fewer too where they would be more than `batch_vectors`
        with their padding, but one at least.
        """
        if not self._sorted:
            return []
        middle = int(self._rng(epoch, number).integers(len(self._sorted)))
        fitting = self._batch_vectors // self._sorted[middle].frames
        size = max(1, min(self._batch_examples, len(self._sorted), fitting))
        start = int(np.clip(middle - size // 2, 0, len(self._sorted) - size))
        while size > 1 and size * self._sorted[start + size - 1].frames > self._batch_vectors:
            size -= 1
        batch = self._sorted[start : start + size]
        del self._sorted[start : start + size]
        self._ordinals.difference_update(item.ordinal for item in batch)
        return batch

    def _rng(self, epoch: int, number: int) -> np.random.Generator:
        return generator(self._seed, epoch, f"rank {self._rank}, batch {number}", "pool")
