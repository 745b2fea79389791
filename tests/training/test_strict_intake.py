"""Batches that follow from the seed, whatever the pipeline does."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.pipeline.bitmap import Bitmap
from sonorant.pipeline.example import Lineage
from sonorant.pipeline.order import EpochOrder
from sonorant.recipe.training import TrainingRecipe
from sonorant.training.pool import Labelled
from sonorant.training.strict_intake import StrictIntake

TOTAL, EPOCHS, REACH = 24, 2, 6
RECIPE = TrainingRecipe(batch_examples=3, pool_examples=7)


def item(epoch, ordinal):
    frames = 3 + ordinal * 7 % 11
    features = np.empty((frames, 0), np.float32)
    return Labelled(Lineage(epoch, 0, ordinal), ordinal, f"u{ordinal}", features, (0,), np.zeros(frames, int), 1.0)


def order(epoch, settled=frozenset()):
    return list(EpochOrder((TOTAL,), 1, epoch, 4).without(bitmap(settled)))


def bitmap(ordinals):
    found = Bitmap(TOTAL)
    found.add(sorted(ordinals))
    return found


class Pipeline:
    """Leases within `REACH` of the oldest that has not arrived, then lets examples arrive in any order, within credit.

    stray: examples from farther ahead that an earlier generation of trainers left on its way.
    """

    def __init__(self, intake, rejected, draw, settled=frozenset(), stray=0):
        self.intake, self.rejected, self.draw = intake, rejected, draw
        self.order = {e: order(e, settled if e == 0 else ()) for e in range(EPOCHS)}
        self.left = {e: set(self.order[e]) for e in range(EPOCHS)}
        self.credit = 0
        self.stray = [o for o in self.order[0][REACH : REACH + stray] if (0, o) not in rejected]

    def batches(self):
        for epoch in range(EPOCHS):
            while not self.intake.ended(self.drained(epoch)):
                moved = self.arrive(epoch)
                while self.intake.can_form(self.drained(epoch)):
                    moved = True
                    yield epoch, [i.ordinal for i in self.intake.form()]
                awaited = self.intake.awaited(self.drained(epoch))
                gone = [o for o in awaited if (epoch, o) in self.rejected]
                self.intake.skip(epoch, gone)
                assert moved or gone or self.intake.ended(self.drained(epoch)), "nothing can come, and no batch"
            self.intake.next_epoch()

    def drained(self, epoch):
        return not self.left[epoch]

    def arrive(self, epoch):
        """Let one example that is leased come, if one may; what is rejected on its way comes nowhere."""
        self.credit += self.intake.credits(self.drained(epoch))
        while (leased := self.leased(epoch)) and (gone := [o for o in leased if (epoch, o) in self.rejected]):
            self.left[epoch].difference_update(gone)
        if not self.left[epoch] and epoch + 1 < EPOCHS:
            epoch, leased = epoch + 1, [o for o in self.leased(epoch + 1) if (epoch + 1, o) not in self.rejected]
        near = leased + [o for o in self.stray if epoch == 0 and o in self.left[0] and o not in leased]
        if not near or not self.credit:
            return False
        ordinal = near[self.draw(st.integers(0, len(near) - 1))]
        self.left[epoch].remove(ordinal)
        self.credit -= 1
        self.intake.add(item(epoch, ordinal))
        self.intake.arrived(1)
        assert len(self.intake._arrivals) <= REACH + len(self.stray)
        return True

    def leased(self, epoch):
        """Return what is under way: nothing farther than `REACH` past the oldest that is."""
        oldest = next((at for at, o in enumerate(self.order[epoch]) if o in self.left[epoch]), 0)
        return [o for o in self.order[epoch][oldest : oldest + REACH] if o in self.left[epoch]]


def straight(rejected):
    """What one replica that loses nothing brings about."""
    intake = StrictIntake(RECIPE, 1, order, REACH)
    return list(Pipeline(intake, rejected, lambda _: 0).batches())


@settings(max_examples=20)
@given(data=st.data(), rejected=st.sets(st.tuples(st.integers(0, 1), st.integers(0, TOTAL - 1)), max_size=25))
def test_batches_are_the_same_however_examples_arrive(data, rejected):
    found = list(Pipeline(StrictIntake(RECIPE, 1, order, REACH), rejected, data.draw).batches())
    assert found == straight(rejected)
    everything = {(e, o) for e in range(EPOCHS) for o in range(TOTAL)} - rejected
    assert sorted((e, o) for e, batch in found for o in batch) == sorted(everything)


@settings(max_examples=20)
@given(data=st.data(), rejected=st.sets(st.tuples(st.integers(0, 1), st.integers(0, TOTAL - 1)), max_size=8))
def test_a_training_that_goes_on_draws_what_an_uninterrupted_one_does(data, rejected):
    """Settled is what was trained on, and any part of what will be rejected; strays are from before the restart."""
    whole = straight(rejected)
    cut = data.draw(st.integers(0, sum(epoch == 0 for epoch, _ in whole)))
    early = {o for e, o in rejected if e == 0 and data.draw(st.booleans())}
    settled = {o for _, batch in whole[:cut] for o in batch} | early
    intake = StrictIntake(RECIPE, 1, lambda e: order(e, settled if e == 0 else ()), REACH, 0, cut)
    again = Pipeline(intake, rejected, data.draw, settled, stray=data.draw(st.integers(0, 20)))
    assert list(again.batches()) == whole[cut:]
