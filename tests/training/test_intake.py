"""What both orders promise, driven through their protocol alone."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.example import Lineage
from sonorant.delivery.order import EpochOrder
from sonorant.recipe.training import TrainingRecipe
from sonorant.training.fast_intake import FastIntake
from sonorant.training.intake import AskLedger, EndEpoch, Form, Intake, Rejected, Wait
from sonorant.training.pool import Labelled
from sonorant.training.strict_intake import StrictIntake

TOTAL, EPOCHS, REACH, POOL, BATCH = 18, 3, 5, 6, 3
RECIPE = TrainingRecipe(batch_examples=BATCH, pool_examples=POOL)
NAMES = [(epoch, ordinal) for epoch in range(EPOCHS) for ordinal in range(TOTAL)]


def order(epoch):
    return list(EpochOrder((TOTAL,), 1, epoch, 4).without(Bitmap(TOTAL)))


INTAKES: dict[str, tuple[Callable[[], Intake], int]] = {
    "fast": (lambda: FastIntake(RECIPE, seed=1, rank=0), POOL),
    "strict": (lambda: StrictIntake(RECIPE, 1, order, REACH), POOL + REACH),
}


def labelled(epoch, ordinal):
    features = np.empty((3 + ordinal * 7 % 11, 0), np.float32)
    return Labelled(Lineage(epoch, 0, ordinal), ordinal, f"u{ordinal}", features, {"labels": np.zeros(1, int)}, 1.0)


class Rank:
    """One rank with a source, played by the test: polls bring any of what is leased, within credit.

    unusable: arrives and is rejected here. lost: a stage rejected it; it never arrives, and only the ledger knows.
    capacity: most examples of an epoch that the intake may hold or have credit for.
    """

    def __init__(self, intake, capacity, unusable, lost, draw):
        self.intake, self.capacity, self.unusable, self.lost, self.draw = intake, capacity, unusable, lost, draw
        self.left = {epoch: order(epoch) for epoch in range(EPOCHS)}  # neither arrived nor rejected by a stage
        self.held = {epoch: set() for epoch in range(EPOCHS)}  # arrived and usable, in no batch yet
        self.refused = set()  # arrived in its own epoch and was rejected: the intake knows
        self.credit = 0
        self.batches = []
        self.idle = 0

    def run(self):
        while self.intake.epoch < EPOCHS:
            self.iterate(self.intake.epoch)
            assert self.idle < 3, "no batch, no end, nothing to ask for, and nothing can come"
        return self.batches

    def iterate(self, epoch):
        drained = not self.left[epoch]
        self.grant(epoch, drained)
        polled = self.poll(epoch)
        self.intake.arrived(polled)
        action = self.intake.next_action(drained)
        assert self.intake.next_action(drained) == action or isinstance(action, AskLedger), "asking changes something"
        assert not polled or isinstance(action, Form | Wait), "decided on while examples come"
        assert isinstance(action, Form) or not self.intake.ready
        self.idle = 0 if polled else self.idle + 1
        match action:
            case Form():
                self.form(epoch)
                self.idle = 0
            case EndEpoch():
                assert not self.left[epoch], "ended before it was drained"
                assert not self.held[epoch], "ended before all of it was in batches"
                self.intake.next_epoch()
                self.refused.clear()
                assert (self.intake.epoch, self.intake.batches) == (epoch + 1, 0)
                self.idle = 0
            case AskLedger(ordinals, skip):
                assert not (self.held[epoch] | self.refused) & set(ordinals), "asked for what has arrived"
                bad = [o for o in ordinals if (epoch, o) in self.lost | self.unusable]
                skip(known := [o for o in bad if o not in self.left[epoch]])
                self.idle = 0 if known else self.idle

    def grant(self, epoch, drained):
        if count := self.intake.credits(drained):
            assert count > 0
            self.credit += count
            held = len(self.held[epoch]) if not drained else sum(len(self.held[e]) for e in self.held if e > epoch)
            assert self.credit + held <= self.capacity or self.credit == 1, "more credit than capacity"
        assert self.intake.credits(drained) == 0, "what was granted does not count as granted"

    def poll(self, epoch):
        """Return arrivals, none farther than `REACH` past the oldest example that a stage still has."""
        while epoch < EPOCHS - 1 and not self.left[epoch]:
            epoch += 1
        polled = []
        most = self.draw(st.integers(1 if self.idle else 0, 4))
        while len(polled) < min(most, self.credit) and (leased := self.left[epoch][:REACH]):
            ordinal = leased[self.draw(st.integers(0, len(leased) - 1))]
            self.left[epoch].remove(ordinal)
            name = (epoch, ordinal)
            if name in self.lost:
                self.idle = 0
                continue
            if name not in self.unusable:
                polled.append(labelled(*name))
                self.held[epoch].add(ordinal)
                continue
            polled.append(Rejected(*name))
            if epoch == self.intake.epoch:
                self.refused.add(ordinal)
        self.credit -= len(polled)
        return polled

    def form(self, epoch):
        number, pool = self.intake.batches, {item.ordinal for item in self.intake.pool()}
        batch = self.intake.form()
        assert self.intake.batches == number + 1
        assert 0 < len(batch) <= BATCH
        assert {item.lineage.epoch for item in batch} == {epoch}
        assert {item.ordinal for item in batch} <= pool & self.held[epoch], "not held, or in a batch before"
        self.held[epoch] -= {item.ordinal for item in batch}
        self.batches.append([(epoch, item.ordinal) for item in batch])


_SOME = st.sets(st.sampled_from(NAMES), max_size=20)


@pytest.mark.parametrize("kind", INTAKES)
@settings(max_examples=60)
@given(data=st.data(), unusable=_SOME, lost=_SOME)
def test_every_usable_example_is_in_one_batch_of_its_epoch_within_credit_and_no_epoch_ends_undrained(
    kind, data, unusable, lost
):
    make, capacity = INTAKES[kind]
    batches = Rank(make(), capacity, unusable, lost, data.draw).run()
    assert sorted(name for batch in batches for name in batch) == sorted(set(NAMES) - unusable - lost)
