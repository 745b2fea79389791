import math

import pytest

from sonorant.recipe.training import TrainingRecipe
from sonorant.training.schedule import decays, learning_rate

RECIPE = TrainingRecipe(learning_rate=2e-3, warmup_steps=9, decay_steps=100, final_learning_rate=1e-4)


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (0, 2e-3 * 0.1),
        (4, 2e-3 * 0.5),
        (9, 2e-3),
        (9 + 25, 1e-4 + 1.9e-3 * (1 + math.sqrt(0.5)) / 2),
        (9 + 50, (2e-3 + 1e-4) / 2),
        (109, 1e-4),
        (5000, 1e-4),
    ],
)
def test_rate_rises_linearly_and_falls_by_a_cosine(step, rate):
    assert learning_rate(step, RECIPE) == pytest.approx(rate)


def test_no_rate_is_above_the_highest():
    for schedule in ("cosine", "newbob"):
        recipe = TrainingRecipe(schedule=schedule, learning_rate=1e-6, warmup_steps=2, final_learning_rate=1e-5)
        assert [learning_rate(step, recipe) for step in (1, 2, 9999)] == pytest.approx([2e-6 / 3, 1e-6, 1e-6])


NEWBOB = TrainingRecipe(
    schedule="newbob",
    learning_rate=8e-3,
    warmup_steps=3,
    final_learning_rate=1e-3,
    newbob_decay=0.5,
    newbob_threshold=0.01,
)


@pytest.mark.parametrize(
    ("step", "count", "rate"), [(0, 0, 2e-3), (3, 0, 8e-3), (9999, 0, 8e-3), (9, 2, 2e-3), (9, 4, 1e-3)]
)
def test_newbob_rate_stays_between_decays_and_above_the_lowest(step, count, rate):
    assert learning_rate(step, NEWBOB, count) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("before", "after", "decayed"),
    [
        (None, 0.5, False),
        (0.5, 0.4, False),
        (0.5, 0.5, True),
        (0.5, 0.6, True),
        (0.5, 0.497, True),
        (0.5, 0.494, False),
        (0.1, 0.0, False),
    ],
)
def test_newbob_decays_when_dev_gains_less_than_the_threshold(before, after, decayed):
    assert decays(NEWBOB, before, after) is decayed
    assert not decays(RECIPE, before, after)
