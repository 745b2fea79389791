"""Intake that trains on whatever has arrived: `pipeline.order: fast`."""

from collections.abc import Sequence

from sonorant.recipe.training import TrainingRecipe
from sonorant.training.early_examples import EarlyExamples
from sonorant.training.intake import Arrival, EndEpoch, Form, Rejected, Wait
from sonorant.training.outstanding_credit import OutstandingCredit
from sonorant.training.pool import Labelled, Pool

__all__ = ["FastIntake"]


class FastIntake:
    """Draws batches from a pool that is at least half full, or from the rest of a drained epoch; see `Intake`.

    Credits are granted as long as slots are free. Early examples of the next epoch wait beside the pool and use
    its slots: otherwise a rank that still has batches of this epoch, while others have none, would take the whole of
    the next one. But while a rank lacks examples for a batch they use no slots, so that they never block the current
    epoch; the coordinator leases at most pipeline.lookahead_examples of them.

    epoch, batches: where to begin; batches were formed in that epoch before a restart.
    """

    def __init__(self, recipe: TrainingRecipe, seed: int, rank: int, epoch: int = 0, batches: int = 0) -> None:
        self.epoch = epoch
        self.batches = batches
        self._capacity = max(recipe.pool_examples, recipe.batch_examples)
        self._enough = max(self._capacity // 2, recipe.batch_examples)
        self._pool = Pool(recipe.batch_examples, recipe.batch_vectors, seed, rank)
        self._early = EarlyExamples()
        self._credit = OutstandingCredit()
        self._quiet = False  # the latest poll brought nothing

    def __len__(self) -> int:
        """Examples of the current epoch that wait."""
        return len(self._pool)

    @property
    def ready(self) -> bool:
        """Whether the pool is half full, and has a batch."""
        return len(self._pool) >= self._enough

    def pool(self) -> list[Labelled]:
        """See `Intake`."""
        return self._pool.items()

    def credits(self, drained: bool) -> int:
        """See `Intake`."""
        if drained:  # arrivals are of the next epoch, which has a pool to fill
            return self._credit.up_to(self._capacity - len(self._early))
        early = len(self._early) if self.ready else 0
        return self._credit.up_to(self._capacity - len(self._pool) - early)

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """See `Intake`."""
        self._quiet = not arrivals
        self._credit.used(len(arrivals))
        for item in arrivals:
            if isinstance(item, Rejected) or item.lineage.epoch < self.epoch:
                continue
            if item.lineage.epoch == self.epoch:
                self._pool.add(item)
            else:
                self._early.keep(item)

    def next_action(self, drained: bool) -> Form | EndEpoch | Wait:
        """See `Intake`."""
        if self.ready:
            return Form()
        if not (drained and self._quiet):
            return Wait()
        return Form() if len(self._pool) else EndEpoch()

    def form(self) -> list[Labelled]:
        """See `Intake`."""
        batch = self._pool.draw(self.epoch, self.batches)
        self.batches += 1
        return batch

    def next_epoch(self) -> None:
        """See `Intake`."""
        self.epoch += 1
        self.batches = 0
        for item in self._early.pop(self.epoch):
            self._pool.add(item)
