"""Intake whose batches follow from the seed: `pipeline.order: strict`."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import Self

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.example import Lineage
from sonorant.delivery.order import EpochOrder
from sonorant.links.lanes import lane_of
from sonorant.recipe.schema import Recipe
from sonorant.recipe.training import TrainingRecipe
from sonorant.training.early_examples import EarlyExamples
from sonorant.training.intake import Action, Arrival, AskLedger, EndEpoch, Form, Rejected, Wait
from sonorant.training.outstanding_credit import OutstandingCredit
from sonorant.training.pool import Labelled, Pool
from sonorant.training.reorder import ReorderBuffer

__all__ = ["StrictIntake"]

_ASKED_AT_ONCE = 64


class StrictIntake:
    """Adds examples to the pool in the epoch's own order, and draws only from a full one.

    So the pool before each batch holds the first examples of the order that were neither drawn nor rejected: the
    draw depends on nothing else, and a training resumed after some of them were committed draws the same.
    Of several ranks each has a lane of its own, and trains on its part of the order. Against head-of-line blocking,
    where examples of a rank without free slots fill the stages' credits before those that a late rank waits for, a
    rank that has a batch while another is late takes more in (`widen`).

    order: returns the ordinals of an epoch that are to be trained on, in their order. reach: how far past a missing
    example others may arrive; they wait here. settled: committed or rejected ordinals of the first epoch: not in the
    order, and their copies are dropped. rank, epoch, batches: see `FastIntake`.
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
        self.epoch = epoch
        self.batches = batches
        self._batch_examples = recipe.batch_examples
        self._capacity = max(recipe.pool_examples, recipe.batch_examples)
        self._pool = Pool(recipe.batch_examples, recipe.batch_vectors, seed, rank)
        self._early = EarlyExamples()
        self._credit = OutstandingCredit()
        self._quiet = False  # the latest poll brought nothing
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

        settled: committed or rejected ordinals of `epoch`.
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

    @property
    def ready(self) -> bool:
        """Whether the pool is full, or holds the end of the order."""
        return len(self._pool) == self._capacity or (self._arrivals.over and len(self._pool) > 0)

    def pool(self) -> list[Labelled]:
        """See `Intake`."""
        return self._pool.items()

    def credits(self, drained: bool) -> int:
        """See `Intake`: as long as the pool waits for an example there is credit for it, whatever else has arrived."""
        slots = self._capacity + self._reach + self._extra - len(self)
        if drained:  # arrivals are of later epochs
            return self._credit.up_to(slots - len(self._early))
        return self._credit.up_to(max(slots, 1) if len(self._pool) < self._capacity else slots)

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """See `Intake`; rejections of a later epoch are queried then, like those of stages."""
        self._quiet = not arrivals
        self._credit.used(len(arrivals))
        for item in arrivals:
            if isinstance(item, Rejected):
                self._skip(item.epoch, [item.ordinal])
            elif item.lineage.epoch == self.epoch:
                self._add(item)
            elif item.lineage.epoch > self.epoch:
                self._early.keep(item)

    def next_action(self, drained: bool) -> Action:
        """See `Intake`; the ledger is queried for missing ordinals once a later one has arrived, or none will."""
        if self.ready:
            return Form()
        if not self._quiet:
            return Wait()
        if self._arrivals.over and not len(self):
            return EndEpoch()
        if (drained or len(self._arrivals)) and (missing := self._arrivals.missing(_ASKED_AT_ONCE)):
            return AskLedger(missing, partial(self._skip, self.epoch))
        return Wait()

    def form(self) -> list[Labelled]:
        """See `Intake`."""
        self._extra = 0
        batch = self._pool.draw(self.epoch, self.batches)
        self.batches += 1
        self._fill()
        return batch

    def next_epoch(self) -> None:
        """See `Intake`."""
        self.epoch += 1
        self.batches = 0
        self._arrivals = ReorderBuffer(self._order(self.epoch))
        self._settled = None
        for item in self._early.pop(self.epoch):
            self._add(item)

    def widen(self) -> None:
        """Grant credit for a batch more until the next one is formed; any thread may call."""
        self._extra += self._batch_examples

    def _add(self, item: Labelled) -> None:
        if self._settled is not None and self._settled.has([item.ordinal])[0]:
            return
        self._arrivals.add(item.ordinal, item)
        self._fill()

    def _skip(self, epoch: int, ordinals: Sequence[int]) -> None:
        if epoch == self.epoch:
            self._arrivals.skip(ordinals)
            self._fill()

    def _fill(self) -> None:
        while len(self._pool) < self._capacity and (item := self._arrivals.pop()) is not None:
            self._pool.add(item)
