import numpy as np
import pytest

from benchmarks.intake import epoch_batches, padding
from sonorant.recipe.training import TrainingRecipe


@pytest.mark.parametrize("settings", [{"pool_examples": 64, "batch_examples": 8}, {"batch_vectors": 1000}])
def test_an_epoch_of_batches_has_every_example_once(settings):
    lengths = np.random.default_rng(0).integers(20, 400, 500)
    batches = epoch_batches(lengths, TrainingRecipe.model_validate(settings), 0)
    assert sorted(number for batch in batches for number in batch) == list(range(500))
    assert 0 < padding(lengths, batches) < padding(lengths, np.arange(500).reshape(-1, 10))


def testpadding_is_the_share_that_is_filled_up():
    assert padding(np.array([3, 1, 2, 2]), [[0, 1], [2, 3]]) == pytest.approx(2 / 10)
