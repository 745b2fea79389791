import math

import pytest

from sonorant.recipe.training import TrainingRecipe
from sonorant.training.schedule import learning_rate

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
