from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.delivery.example import Lineage
from sonorant.recipe.training import TrainingRecipe
from sonorant.training.fast_intake import FastIntake
from sonorant.training.intake import EndEpoch, Form
from sonorant.training.pool import Labelled


def labelled(ordinal, epoch=0, frames=5):
    features = np.ones((frames, 2), np.float32)
    lineage = Lineage(epoch, ordinal // 10, ordinal % 10)
    return Labelled(lineage, ordinal, f"u{ordinal}", features, {"labels": np.zeros(1, int)}, 1.0)


@settings(max_examples=30)
@given(data=st.data())
def test_every_example_is_in_exactly_one_batch_and_epochs_stay_apart(data):
    """Arrivals of two epochs in any order and in any portions, with copies, within the granted credits."""
    recipe = TrainingRecipe(batch_examples=3, pool_examples=data.draw(st.integers(3, 12)))
    intake = FastIntake(recipe, seed=1, rank=0)
    names = [(e, o) for e in range(2) for o in range(20)]
    arrivals = data.draw(st.permutations(names + data.draw(st.lists(st.sampled_from(names), max_size=5))))
    lengths = {name: data.draw(st.integers(3, 50)) for name in names}
    left, credit, batches = list(arrivals), 0, []
    claimed = set()
    for epoch in range(2):
        while True:
            drained = all(e > epoch for e, _ in left)
            credit += intake.credits(drained)
            count = min(credit, data.draw(st.integers(1, 6)), len(left))
            can_go_on = drained or credit > 0 or intake.ready
            assert can_go_on, "neither a slot for an example of this epoch, nor a batch, nor the end of it"
            intake.arrived([labelled(o, e, frames=lengths[e, o]) for e, o in left[:count]])
            left, credit = left[count:], credit - count
            while isinstance(action := intake.next_action(drained), Form):
                batch = [i for i in intake.form() if (epoch, i.ordinal) not in claimed]  # the ledger's part
                claimed |= {(epoch, i.ordinal) for i in batch}
                batches.append((epoch, batch))
            if isinstance(action, EndEpoch):
                assert drained
                break
        intake.next_epoch()
    assert all(item.lineage.epoch == epoch for epoch, batch in batches for item in batch)
    assert sorted((e, i.ordinal) for e, batch in batches for i in batch) == sorted(names)
    assert all(len(batch) <= 3 for _, batch in batches)


def test_batches_are_of_similar_length():
    intake = FastIntake(TrainingRecipe(batch_examples=4, pool_examples=200), seed=1, rank=0)
    lengths = np.random.default_rng(0).permutation(np.arange(5, 35))
    intake.arrived([labelled(ordinal, frames=int(frames)) for ordinal, frames in enumerate(lengths)])
    spreads = [max(i.frames for i in batch) - min(i.frames for i in batch) for batch in (intake.form(),)]
    assert max(spreads) == 3


def test_what_is_drawn_depends_on_content_and_number_but_not_on_the_order_of_arrival():
    outcomes = []
    for order in (range(20), reversed(range(20))):
        intake = FastIntake(TrainingRecipe(batch_examples=4, pool_examples=40), seed=1, rank=0, batches=2)
        intake.arrived([labelled(ordinal, frames=5 + ordinal % 7) for ordinal in order])
        outcomes.append([[i.ordinal for i in intake.form()] for _ in range(3)])
    assert outcomes[0] == outcomes[1]


def test_early_examples_use_no_room_as_long_as_there_is_no_batch():
    intake = FastIntake(TrainingRecipe(batch_examples=2, pool_examples=4), seed=1, rank=0)
    assert intake.credits(drained=False) == 4
    intake.arrived([labelled(ordinal, epoch=1) for ordinal in range(4)])
    assert intake.credits(drained=False) == 4
    intake.next_epoch()
    assert len(intake) == 4
    assert intake.credits(drained=False) == 0


def carried_out(intake, drained):
    """Return the intake's next action, which is done, after a poll without arrivals."""
    intake.arrived([])
    match action := intake.next_action(drained):
        case EndEpoch():
            intake.next_epoch()
        case Form():
            intake.form()
    return action


def gang_steps(ranks, recipe, epochs, examples):
    """Return the steps of each epoch of a gang whose stages are quick: an example goes to the rank with most credit.

    Only one rank gets examples of the first epoch, as if the others had come late.
    """
    intakes = [FastIntake(recipe, seed=1, rank=rank) for rank in range(ranks)]
    coming = deque((e, o) for e in range(epochs) for o in range(examples))
    credit, ended, steps = [0] * ranks, [0] * ranks, []

    def drained(epoch):
        return not coming or coming[0][0] > epoch

    def arrive():
        """Let examples come until no slot is free."""
        while coming:
            for rank, intake in enumerate(intakes):
                credit[rank] += intake.credits(drained(intake.epoch))
            epoch, ordinal = coming[0]
            rank = max(range(ranks if epoch else 1), key=credit.__getitem__)
            if not credit[rank]:
                return
            coming.popleft()
            credit[rank] -= 1
            intakes[rank].arrived([labelled(ordinal, epoch)])

    for epoch in range(epochs):
        steps.append(0)
        while min(ended) <= epoch:
            arrive()
            trained = False
            for rank, intake in enumerate(intakes):
                if intake.epoch == epoch:
                    action = carried_out(intake, drained(epoch))
                    ended[rank] += isinstance(action, EndEpoch)
                    trained |= isinstance(action, Form)
            steps[-1] += trained
    return steps


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_ranks_share_an_epoch_although_some_are_through_with_the_last_before_the_others(ranks):
    recipe = TrainingRecipe(batch_examples=4, pool_examples=24)
    first, *steps = gang_steps(ranks, recipe, epochs=6, examples=30 * 4 * ranks)
    assert first == 30 * ranks
    # Thirty if all have as much; what ranks hold at the end of an epoch can differ by a pool.
    assert max(steps) <= 30 + 24 // 4
