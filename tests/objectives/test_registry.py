import numpy as np
import pytest
from rigs.tiny_bfa import SECTION, tiny_bfa

from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.objectives.registry import build_objective
from sonorant.recipe import Recipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

UNITS = Units("words", ("one", "two"))


@pytest.mark.parametrize(("threshold", "hypotheses"), [(1.0, [1, 1]), (None, [4, 4])])
def test_the_lists_of_minimum_word_error_end_where_the_recipes_search_lets_them(threshold, hypotheses):
    recipe = Recipe.model_validate(
        {
            "version": 1,
            "name": "tiny",
            "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": 8000},
            "text": {"units": "words"},
            "model": SECTION,
            "training": {"mwer_hypotheses": 4},
            "decoding": {"end_threshold": threshold},
        }
    )
    model = tiny_bfa(bins=6, units=UNITS.size, pooling=[1])
    weights = model.named_weights()
    projection = np.random.default_rng(1).normal(0, 2, weights["decoder/projection"].shape)
    model.assign(weights | {"decoder/projection": projection.astype(np.float32)})
    batch = BatchTensors(
        tf.constant(np.random.default_rng(1).normal(size=(2, 3, 6)).astype(np.float32)),
        tf.constant([3, 2]),
        {"labels": Padded(tf.constant([[0, 1], [1, 0]]), tf.constant([2, 1]))},
        tf.constant([1.0, 1.0]),
    )
    found = build_objective(recipe, UNITS).n_best(model, batch)
    assert found["errors"].lengths.numpy().tolist() == hypotheses
