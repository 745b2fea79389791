"""Intake whose batches follow from the seed: `pipeline.order: strict`."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Self

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.example import Lineage
from sonorant.delivery.order import EpochOrder
from sonorant.links.lanes import lane_of
from sonorant.recipe.schema import Recipe
from sonorant.recipe.training import TrainingRecipe
from sonorant.training.intake import Intake
from sonorant.training.pool import Labelled
from sonorant.training.reorder import ReorderBuffer

__all__ = ["StrictIntake"]

_ASKED_AT_ONCE = 64


class StrictIntake(Intake):
    """Lets examples into the pool in the epoch's own order, and draws only from one that is full.

    So the pool before each batch holds the first examples of the order that were neither drawn nor rejected: what is
    drawn depends on nothing else, and a training that goes on after some of them were committed draws the same.
    Of several ranks each has a lane of its own, and trains on its part of the order. What one of them has no room for
    may stand in front of what another waits for, so a rank that is held up by a late one takes more (`widen`).

    order: returns the ordinals of an epoch that are to be trained on, in their order. reach: how far past an example
    that is missing others may come; they wait here. settled: what of the first epoch is committed or rejected already:
    it is not in the order, and copies of it are dropped. rank, epoch, batches: see `Intake`.
    """

    def __init__(
        self,
        recipe: TrainingRecipe,
        seed: int,
        order: Callable[[int], Iterable[int]],
        reach: int,
        rank: int = 0,
        epoch: int = 0,
        batches: int = 0,
        settled: Bitmap | None = None,
    ) -> None:
        super().__init__(recipe, seed, rank, epoch, batches)
        self._order = order
        self._reach = reach
        self._extra = 0
        self._settled = settled
        self._arrivals: ReorderBuffer[Labelled] = ReorderBuffer(order(epoch))

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        counts: Sequence[int],
        settled: Bitmap,
        rank: int,
        epoch: int = 0,
        batches: int = 0,
    ) -> Self:
        """Return the intake of a rank's part of the coordinator's order, which is that of shards with `counts` records.

        settled: what of `epoch` is committed or rejected already.
        """
        pipeline, ranks = recipe.pipeline, recipe.training.ranks
        starts = [0, *accumulate(counts)]

        def is_own(ordinal: int) -> bool:
            shard = bisect_right(starts, ordinal) - 1
            return lane_of(Lineage(0, shard, ordinal - starts[shard]), ranks) == rank

        def order(number: int) -> Iterable[int]:
            whole = EpochOrder(counts, recipe.seed, number, pipeline.lease_examples)
            left = whole.without(settled if number == epoch else Bitmap(settled.total))
            return left if ranks == 1 else filter(is_own, left)

        reach = max(pipeline.lookahead_examples, pipeline.lease_examples)
        return cls(recipe.training, recipe.seed, order, reach, rank, epoch, batches, settled)

    def __len__(self) -> int:
        """Examples of the current epoch that wait."""
        return len(self._pool) + len(self._arrivals)

    def can_form(self, drained: bool) -> bool:
        """Whether a batch may be formed now: from a full pool, or from the end of the order."""
        del drained  # the order itself tells when it is over
        return len(self._pool) == self._capacity or (self._arrivals.over and len(self._pool) > 0)

    def ended(self, drained: bool) -> bool:
        """Whether the current epoch has no further batch."""
        del drained
        return self._arrivals.over and not len(self)

    def form(self) -> list[Labelled]:
        """Remove and return the next batch."""
        self._extra = 0
        batch = super().form()
        self._fill()
        return batch

    def next_epoch(self) -> None:
        """Go on to the next epoch, whose early examples find their places."""
        self._arrivals = ReorderBuffer(self._order(self.epoch + 1))
        self._settled = None
        super().next_epoch()

    def awaited(self, drained: bool) -> list[int]:
        """Return what is missing although something after it has come, or nothing will come any more."""
        if len(self._pool) < self._capacity and (drained or len(self._arrivals)):
            return self._arrivals.missing(_ASKED_AT_ONCE)
        return []

    def skip(self, epoch: int, ordinals: Sequence[int]) -> None:
        """Let batches no longer wait for what was rejected; of a later epoch, `awaited` will ask for it."""
        if epoch == self.epoch:
            self._arrivals.skip(ordinals)
            self._fill()

    def _room(self, drained: bool) -> int:
        """As long as the pool waits for an example there is credit for it, whatever else has come."""
        room = self._capacity + self._reach + self._extra - len(self)
        if drained:  # whatever comes is of the next epoch, or of one after it
            return room - self._ahead
        return max(room, 1) if len(self._pool) < self._capacity else room

    def widen(self) -> None:
        """Make room for a batch more until the next one is formed."""
        self._extra += self._batch_examples

    def _add(self, item: Labelled) -> None:
        if self._settled is not None and self._settled.has([item.ordinal])[0]:
            return
        self._arrivals.add(item.ordinal, item)
        self._fill()

    def _fill(self) -> None:
        while len(self._pool) < self._capacity and (item := self._arrivals.pop()) is not None:
            self._pool.add(item)
