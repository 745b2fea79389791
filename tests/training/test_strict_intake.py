"""Batches that follow from the seed, whatever the pipeline does."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.example import Lineage
from sonorant.delivery.order import EpochOrder
from sonorant.links.lanes import lane_of
from sonorant.recipe.schema import Recipe
from sonorant.recipe.training import TrainingRecipe
from sonorant.training.intake import AskLedger, EndEpoch, Form
from sonorant.training.pool import Labelled
from sonorant.training.strict_intake import StrictIntake

TOTAL, EPOCHS, REACH = 24, 2, 6
RECIPE = TrainingRecipe(batch_examples=3, pool_examples=7)


def item(epoch, ordinal):
    frames = 3 + ordinal * 7 % 11
    features = np.empty((frames, 0), np.float32)
    return Labelled(Lineage(epoch, 0, ordinal), ordinal, f"u{ordinal}", features, {"labels": np.zeros(1, int)}, 1.0)


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
            while not isinstance(action := self.after_a_quiet_poll(epoch), EndEpoch):
                moved = self.arrive(epoch)
                while isinstance(action := self.after_a_quiet_poll(epoch), Form):
                    moved = True
                    yield epoch, [i.ordinal for i in self.intake.form()]
                if isinstance(action, AskLedger):
                    action.skip(gone := [o for o in action.ordinals if (epoch, o) in self.rejected])
                    moved = moved or bool(gone)
                assert moved or isinstance(action, EndEpoch), "nothing can come, and no batch"
            self.intake.next_epoch()

    def after_a_quiet_poll(self, epoch):
        self.intake.arrived([])
        return self.intake.next_action(self.drained(epoch))

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
        self.intake.arrived([item(epoch, ordinal)])
        assert len(self.intake) - len(self.intake.pool()) <= REACH + len(self.stray)
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
    intake = StrictIntake(RECIPE, 1, lambda e: order(e, settled if e == 0 else ()), REACH, batches=cut)
    again = Pipeline(intake, rejected, data.draw, settled, stray=data.draw(st.integers(0, 20)))
    assert list(again.batches()) == whole[cut:]


def test_of_later_epochs_no_more_come_than_there_is_room_for():
    intake = StrictIntake(RECIPE, 1, order, REACH)
    intake.arrived([item(0, ordinal) for ordinal in range(TOTAL)])
    while len(intake) > RECIPE.batch_examples:
        intake.form()
    early = 0
    while credit := intake.credits(drained=True):
        assert early < 100, "it takes whatever comes"
        intake.arrived([item(1 + o // TOTAL, o % TOTAL) for o in range(early, early + credit)])
        early += credit
    assert early + len(intake) == RECIPE.pool_examples + REACH


def test_copies_of_what_was_settled_before_a_restart_are_dropped():
    settled = set(order(0)[:20])
    intake = StrictIntake(RECIPE, 1, lambda e: order(e, settled if e == 0 else ()), REACH, settled=bitmap(settled))
    intake.arrived([item(0, ordinal) for ordinal in order(0)])  # the first of them are copies
    assert len(intake) == TOTAL - len(settled)
    intake.arrived([])
    while not isinstance(intake.next_action(drained=True), EndEpoch):
        assert not settled & {i.ordinal for i in intake.form()}
    intake.next_epoch()
    intake.arrived([item(1, ordinal) for ordinal in order(1)])
    assert len(intake) == TOTAL


RANKS, SLOTS = 2, 5
COUNTS = (17, 1, 0, 22)
PART = {
    "version": 1,
    "name": "lanes",
    "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": 8000},
    "text": {"units": "words"},
    "pipeline": {"order": "strict", "lease_examples": 4, "lookahead_examples": 8},
    "training": {"batch_examples": 3, "pool_examples": 7, "ranks": RANKS},
}


def intakes():
    recipe = Recipe.model_validate(PART)
    return [StrictIntake.of(recipe, COUNTS, Bitmap(sum(COUNTS)), rank) for rank in range(RANKS)]


def lane(ordinal):
    shard = max(s for s, count in enumerate(COUNTS) if count and sum(COUNTS[:s]) <= ordinal)
    return lane_of(Lineage(0, shard, ordinal - sum(COUNTS[:shard])), RANKS)


class Gang:
    """Ranks that step together behind a pipeline of few slots, which an example leaves when its rank has a free slot.

    When nothing moves, those that have a batch take more in, as the loop asks of them while another rank is late.
    """

    def __init__(self, rejected, draw):
        self.intakes, self.rejected, self.draw = intakes(), rejected, draw
        self.order = list(EpochOrder(COUNTS, 0, 0, 4).without(Bitmap(sum(COUNTS))))
        self.left = set(self.order)  # has not arrived
        self.slots, self.credit = [], [0] * RANKS

    def batches(self):
        """Yield what all ranks train on in each step of the epoch."""
        stuck = 0
        while not all(isinstance(action, EndEpoch) for action in self.after_a_quiet_poll()):
            moved = self.lease() or self.arrive()
            for action in self.after_a_quiet_poll():
                if isinstance(action, AskLedger):
                    action.skip(gone := [o for o in action.ordinals if o in self.rejected])
                    moved = moved or bool(gone)
            actions = self.after_a_quiet_poll()
            if all(isinstance(action, Form | EndEpoch) for action in actions):
                yield [
                    [e.ordinal for e in intake.form()] if isinstance(action, Form) else []
                    for intake, action in zip(self.intakes, actions, strict=True)
                ]
            elif moved:
                stuck = 0
            else:
                assert (stuck := stuck + 1) < 3, "nothing can come, and no step"
                for intake in self.intakes:
                    if intake.ready:
                        intake.widen()

    def after_a_quiet_poll(self):
        for intake in self.intakes:
            intake.arrived([])
        return [intake.next_action(not self.left) for intake in self.intakes]

    def lease(self):
        """Let one example into the pipeline, none farther past the oldest under way than the coordinator allows."""
        oldest = next((at for at, o in enumerate(self.order) if o in self.left), 0)
        near = [o for o in self.order[oldest : oldest + 8] if o in self.left and o not in self.slots]
        if not near or len(self.slots) == SLOTS:
            return False
        ordinal = near[self.draw(st.integers(0, len(near) - 1))]
        if ordinal in self.rejected:
            self.left.remove(ordinal)
        else:
            self.slots.append(ordinal)
        return True

    def arrive(self):
        for rank, intake in enumerate(self.intakes):
            self.credit[rank] += intake.credits(not self.left)
        free = [o for o in self.slots if self.credit[lane(o)]]
        if not free:
            return False
        ordinal = free[self.draw(st.integers(0, len(free) - 1))]
        self.slots.remove(ordinal)
        self.left.remove(ordinal)
        self.credit[lane(ordinal)] -= 1
        self.intakes[lane(ordinal)].arrived([item(0, ordinal)])
        return True


one_lane = st.just({o for o in range(sum(COUNTS)) if lane(o) == 0})


@settings(max_examples=50)
@given(data=st.data(), rejected=st.sets(st.integers(0, sum(COUNTS) - 1)) | one_lane)
def test_ranks_train_on_their_parts_of_the_epoch_in_steps_that_are_the_same_however_examples_arrive(data, rejected):
    found = list(Gang(rejected, data.draw).batches())
    assert found == list(Gang(rejected, lambda _: 0).batches())
    assert sorted(o for step in found for batch in step for o in batch) == sorted(set(range(sum(COUNTS))) - rejected)
    assert all(lane(o) == rank for step in found for rank, batch in enumerate(step) for o in batch)
