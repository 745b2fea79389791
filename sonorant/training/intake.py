"""Intake: from arriving examples to batches of one epoch after the other, as a machine without threads.

Credits are granted as long as there is room. Examples of the next epoch that come early wait beside the pool and use up
its room: a rank that still has batches of this epoch, while others have none, would take the whole of the next one
otherwise, and train on it alone. But while a rank lacks examples for a batch they use up no room, so that the current
epoch is never shut out, however many of them come: at most pipeline.lookahead_examples, by the coordinator.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.objectives.objective import Objective
from sonorant.recipe.training import TrainingRecipe
from sonorant.training.pool import Labelled, Pool

__all__ = ["ExampleSource", "Intake", "Labeller"]


class ExampleSource(Protocol):
    """Where a rank's examples come from; one thread calls it."""

    def take(self, timeout_s: float) -> list[Example]:
        """Return what has arrived; waits up to `timeout_s` if that is nothing."""
        ...

    def grant(self, count: int) -> None:
        """Let `count` more examples come."""
        ...

    def drained(self, epoch: int) -> bool:
        """Whether all examples of the epoch were taken, by some rank, or are settled: `take` will bring none."""
        ...


class Labeller:
    """Turns an example with features into one with the objective's targets and a place in the ledger."""

    def __init__(self, objective: Objective, shard_counts: Sequence[int]) -> None:
        self.objective = objective
        self._offsets = np.concatenate(([0], np.cumsum(shard_counts)))

    def ordinal(self, example: Example) -> int:
        """Return the example's position among all records."""
        return int(self._offsets[example.lineage.shard]) + example.lineage.index

    def __call__(self, example: Example) -> Labelled:
        """Return the example with its targets; raises RejectedExample if it cannot be trained on."""
        features = example.features
        if features is None or not len(features):
            raise RejectedExample("0 feature vectors: expected at least 1; the recording is shorter than one window")
        if not np.isfinite(features).all():
            raise RejectedExample("features hold NaN or infinity; look at the stage before the featurizer")
        return Labelled(
            lineage=example.lineage,
            ordinal=self.ordinal(example),
            utterance=example.utterance,
            features=features,
            targets=self.objective.targets(example, len(features)),
            duration_s=example.duration_s,
        )


class Intake:
    """Sorts arriving examples by epoch, says how many may come, and forms batches.

    epoch, batches: where to begin, the second being the number of batches formed in that epoch before a restart.
    """

    def __init__(self, recipe: TrainingRecipe, seed: int, rank: int, epoch: int = 0, batches: int = 0) -> None:
        self.epoch = epoch
        self.batches = batches
        self._batch_examples = recipe.batch_examples
        self._capacity = max(recipe.pool_examples, recipe.batch_examples)
        self._enough = max(self._capacity // 2, recipe.batch_examples)
        self._pool = Pool(recipe.batch_examples, recipe.batch_vectors, seed, rank)
        self._waiting: dict[int, list[Labelled]] = defaultdict(list)
        self._granted = 0  # credits that no arrival has used yet

    def __len__(self) -> int:
        """Examples of the current epoch that wait."""
        return len(self._pool)

    def pool(self) -> list[Labelled]:
        """Return the current epoch's examples that wait, shortest first."""
        return self._pool.items()

    def credits(self, drained: bool) -> int:
        """Return how many credits to grant now; they count as granted. drained: see `ExampleSource`."""
        count = max(0, self._room(drained) - self._granted)
        self._granted += count
        return count

    def arrived(self, count: int) -> None:
        """Take note that `count` examples came, usable or not."""
        self._granted = max(0, self._granted - count)

    def add(self, item: Labelled) -> None:
        """Take in one example; of an epoch that is over, it is dropped."""
        epoch = item.lineage.epoch
        if epoch == self.epoch:
            self._add(item)
        elif epoch > self.epoch:
            self._waiting[epoch].append(item)

    def can_form(self, drained: bool) -> bool:
        """Whether a batch may be formed now: from a pool half full, or from what is left of a drained epoch."""
        return len(self._pool) >= (1 if drained else self._enough)

    def ended(self, drained: bool) -> bool:
        """Whether the current epoch has no further batch."""
        return drained and not len(self)

    def form(self) -> list[Labelled]:
        """Remove and return the next batch."""
        batch = self._pool.draw(self.epoch, self.batches)
        self.batches += 1
        return batch

    def next_epoch(self) -> None:
        """Go on to the next epoch, whose early examples move into the pool."""
        self.epoch += 1
        self.batches = 0
        for item in self._waiting.pop(self.epoch, []):
            self._add(item)

    def awaited(self, drained: bool) -> list[int]:
        """Return ordinals of the current epoch that batches wait for: those that were rejected must be skipped."""
        del drained
        return []

    def skip(self, epoch: int, ordinals: Sequence[int]) -> None:
        """Take note that examples were rejected and will never come."""

    def widen(self) -> None:
        """Take more, if that can help a rank which the others wait for."""

    @property
    def _ahead(self) -> int:
        """Examples of later epochs that wait."""
        return sum(map(len, self._waiting.values()))

    def _room(self, drained: bool) -> int:
        if drained:  # whatever comes is of the next epoch, which has a pool to fill
            return self._capacity - self._ahead
        return self._capacity - len(self._pool) - (self._ahead if self.can_form(drained) else 0)

    def _add(self, item: Labelled) -> None:
        self._pool.add(item)
