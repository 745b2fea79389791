from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.tiny import tiny_recipe

from sonorant.delivery.example import Example, Lineage
from sonorant.errors import RejectedExample
from sonorant.objectives.registry import build_objective
from sonorant.recipe.training import TrainingRecipe
from sonorant.text.units import Units
from sonorant.training.intake import Intake, Labeller

LABELLER = Labeller(build_objective(tiny_recipe(), Units("words", ("a", "b"))), shard_counts=(10,) * 100)


def example(ordinal, epoch=0, frames=5, text="a b", features=None):
    return Example(
        lineage=Lineage(epoch, ordinal // 10, ordinal % 10),
        utterance=f"u{ordinal}",
        text=text,
        sample_rate_hz=8000,
        duration_s=1.0,
        features=np.ones((frames, 2), np.float32) if features is None else features,
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (example(0, frames=0), "0 feature vectors: expected at least 1"),
        (example(0, frames=2, text="a a"), "2 feature vectors for 2 units: CTC needs at least 3"),
        (example(0, text=""), "empty transcript"),
        (example(0, text="a z"), "'z'"),
        (example(0, features=np.full((5, 2), np.nan, np.float32)), "NaN"),
    ],
)
def test_what_cannot_be_trained_on_is_rejected_with_its_reason(bad, reason):
    with pytest.raises(RejectedExample, match=reason):
        LABELLER(bad)


def test_ordinal_counts_the_records_of_earlier_shards():
    assert LABELLER(example(23)).ordinal == 23


@settings(max_examples=30)
@given(data=st.data())
def test_every_example_is_in_exactly_one_batch_and_epochs_stay_apart(data):
    """Arrivals of two epochs in any order and in any portions, with copies, within the granted credits."""
    recipe = TrainingRecipe(batch_examples=3, pool_examples=data.draw(st.integers(3, 12)))
    intake = Intake(recipe, seed=1, rank=0)
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
            can_go_on = drained or credit > 0 or intake.can_form(drained)
            assert can_go_on, "neither room for an example of this epoch, nor a batch, nor the end of it"
            for e, o in left[:count]:
                intake.add(LABELLER(example(o, e, frames=lengths[e, o])))
            intake.arrived(count)
            left, credit = left[count:], credit - count
            while intake.can_form(drained):
                batch = [i for i in intake.form() if (epoch, i.ordinal) not in claimed]  # the ledger's part
                claimed |= {(epoch, i.ordinal) for i in batch}
                batches.append((epoch, batch))
            if drained and not len(intake):
                break
        intake.next_epoch()
    assert all(item.lineage.epoch == epoch for epoch, batch in batches for item in batch)
    assert sorted((e, i.ordinal) for e, batch in batches for i in batch) == sorted(names)
    assert all(len(batch) <= 3 for _, batch in batches)


def test_batches_are_of_similar_length():
    intake = Intake(TrainingRecipe(batch_examples=4, pool_examples=200), seed=1, rank=0)
    for ordinal, frames in enumerate(np.random.default_rng(0).permutation(np.arange(5, 35))):
        intake.add(LABELLER(example(ordinal, frames=int(frames))))
    spreads = [max(i.frames for i in batch) - min(i.frames for i in batch) for batch in (intake.form(),)]
    assert max(spreads) == 3


def test_what_is_drawn_depends_on_content_and_number_but_not_on_the_order_of_arrival():
    outcomes = []
    for order in (range(20), reversed(range(20))):
        intake = Intake(TrainingRecipe(batch_examples=4, pool_examples=40), seed=1, rank=0, batches=2)
        for ordinal in order:
            intake.add(LABELLER(example(ordinal, frames=5 + ordinal % 7)))
        outcomes.append([[i.ordinal for i in intake.form()] for _ in range(3)])
    assert outcomes[0] == outcomes[1]


def test_early_examples_use_no_room_as_long_as_there_is_no_batch():
    intake = Intake(TrainingRecipe(batch_examples=2, pool_examples=4), seed=1, rank=0)
    assert intake.credits(drained=False) == 4
    for ordinal in range(4):
        intake.add(LABELLER(example(ordinal, epoch=1)))
    intake.arrived(4)
    assert intake.credits(drained=False) == 4
    intake.next_epoch()
    assert len(intake) == 4
    assert intake.credits(drained=False) == 0


def gang_steps(ranks, recipe, epochs, examples):
    """Return the steps of each epoch of a gang whose stages are quick: an example goes to the rank with most credit.

    Only one rank gets examples of the first epoch, as if the others had come late.
    """
    intakes = [Intake(recipe, seed=1, rank=rank) for rank in range(ranks)]
    coming = deque((e, o) for e in range(epochs) for o in range(examples))
    credit, ended, steps = [0] * ranks, [0] * ranks, []

    def drained(epoch):
        return not coming or coming[0][0] > epoch

    def arrive():
        """Let examples come until nobody has room."""
        while coming:
            for rank, intake in enumerate(intakes):
                credit[rank] += intake.credits(drained(intake.epoch))
            epoch, ordinal = coming[0]
            rank = max(range(ranks if epoch else 1), key=credit.__getitem__)
            if not credit[rank]:
                return
            coming.popleft()
            credit[rank] -= 1
            intakes[rank].add(LABELLER(example(ordinal, epoch)))
            intakes[rank].arrived(1)

    for epoch in range(epochs):
        steps.append(0)
        while min(ended) <= epoch:
            arrive()
            trained = False
            for rank, intake in enumerate(intakes):
                if intake.epoch == epoch and intake.ended(drained(epoch)):
                    ended[rank] += 1
                    intake.next_epoch()
                elif intake.epoch == epoch and intake.can_form(drained(epoch)):
                    intake.form()
                    trained = True
            steps[-1] += trained
    return steps


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_ranks_share_an_epoch_although_some_are_through_with_the_last_before_the_others(ranks):
    recipe = TrainingRecipe(batch_examples=4, pool_examples=24)
    first, *steps = gang_steps(ranks, recipe, epochs=6, examples=30 * 4 * ranks)
    assert first == 30 * ranks
    # Thirty if all have as much; what ranks hold at the end of an epoch can differ by a pool.
    assert max(steps) <= 30 + 24 // 4
