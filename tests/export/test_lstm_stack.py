"""An exported stack of LSTM layers, computed by kernels, is the model that TensorFlow computes."""

import numpy as np
import pytest
from rigs.babble import UNITS, babble_recipe

from sonorant.export.loading import load_exported
from sonorant.export.lstm_stack import STACKS, StackBatch
from sonorant.export.manifest import BadExport
from sonorant.export.saved_model import export_model
from sonorant.export.saved_session import load_signatures
from sonorant.export.signatures import signatures
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.registry import build_model
from sonorant.models.stack_functions import stack_functions
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import save_module, tf

BINS = 12
SECTIONS = {
    "lstm_ctc": {"family": "lstm_ctc", "layers": 2, "cells": 9},
    "level": {"family": "lstm_ctc", "layers": 1, "cells": 9, "level": "running"},
    "mean": {"family": "lstm_ctc", "layers": 3, "cells": 5, "normalisation": "running", "memory_vectors": 7},
    "both, late": {
        "family": "delayed_lstm",
        "layers": 2,
        "cells": 6,
        "delay_vectors": 2,
        "level": "running",
        "normalisation": "running",
    },
    "convolution": {
        "family": "lstm_ctc",
        "layers": 2,
        "cells": 9,
        "normalisation": "running",
        "convolution": {"frames": 3, "filters": 5, "width_bins": 2, "pool_bins": 1, "pooled_width_bins": 2, "size": 7},
    },
    "convolution_2d, late": {
        "family": "delayed_lstm",
        "layers": 2,
        "cells": 9,
        "delay_vectors": 2,
        "normalisation": "running",
        "convolution_2d": {
            "frames": 3,
            "layers": [
                {"filters": 5, "width_frames": 2, "width_bins": 2, "pool_bins": 1},
                {"filters": 4, "width_frames": 1, "width_bins": 2, "pool_bins": 2},
            ],
            "size": 7,
        },
    },
}


def recipe_of(section):
    return Recipe.model_validate(babble_recipe().model_dump(mode="json") | {"model": section})


def packed(states):
    return np.concatenate([np.ravel(state) for state in states])


def weights_of(export):
    found = load_signatures(export)
    (name,) = found.keys() & set(STACKS)
    return found[name]()


def vectors(count, seed=1):
    return np.random.default_rng(seed).uniform(0.1, 3, (count, BINS)).astype(np.float32)


@pytest.fixture(scope="module", params=SECTIONS)
def model(request):
    built = build_model(recipe_of(SECTIONS[request.param]).model, BINS, UNITS.size, seed=1)
    built.set_normalisation([vectors(50, seed=0)], lambda moments: moments)
    rng = np.random.default_rng(2)
    for weight in (weight for layer in built.batch_normalisation for weight in layer.weights if len(weight.shape)):
        weight.assign(rng.uniform(0.5, 2, weight.shape))
    return built


def test_outputs_and_states_are_those_of_the_model_s_step(model, tmp_path):
    module, functions = signatures(model)
    save_module(module, tmp_path, functions)
    stack = StackBatch(weights_of(tmp_path))
    start = packed(model.initial_state(1))
    streams = [vectors(count, count) for count in (1, 0, 23, 4)]
    found = stack.steps(streams, [start] * len(streams))
    for own, (log_probs, state) in zip(streams, found, strict=True):
        if not len(own):
            assert log_probs.shape == (0, UNITS.size + 1)
            np.testing.assert_array_equal(state, start)
            continue
        expected, after = model.step(tf.constant(own[None]), model.initial_state(1))
        np.testing.assert_allclose(log_probs, expected[0], atol=5e-6)
        np.testing.assert_allclose(state, packed(after), atol=5e-6, rtol=5e-6)


def test_numbers_too_small_for_a_float_s_precision_are_zeros_as_in_the_graph():
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    weights = {"mean": zero, "deviation": one, "level": zero[:0], "running_mean": zero[:0]}
    weights |= {"weight_0": np.zeros((2, 4), np.float32), "bias_0": np.zeros(4, np.float32)}  # of a state half is left
    weights |= {"projection_weight": np.zeros((1, 1), np.float32), "projection_bias": zero}
    ((_, state),) = StackBatch(weights).steps([one[None]], [np.float32([1.5e-38, 0])])
    np.testing.assert_array_equal(state, [0, 0])
    assert np.float32(1.5e-38) * np.float32(0.5) > 0  # this thread's arithmetic is left as it was


def test_no_streams_have_no_outputs(model, tmp_path):
    module, functions = signatures(model)
    save_module(module, tmp_path, functions)
    assert StackBatch(weights_of(tmp_path)).steps([], []) == []


def test_a_recognizer_needs_no_graph_of_blocks(model):
    names = signatures(model)[1].keys()
    assert len(names & set(STACKS)) == 1
    assert not [name for name in names if name.startswith("blocks_")]


def test_what_is_less_than_a_stack_has_its_graphs():
    first_of_three = build_model(recipe_of(SECTIONS["mean"]).model, BINS, 5)
    first_of_three.set_layers(1)  # as in layer-wise pretraining
    names = signatures(first_of_three)[1].keys()
    assert "lstm_stack" not in names
    assert "blocks_1" in names


def test_recognizers_before_convolutions_find_no_stack_in_an_export_that_has_one():
    names = signatures(build_model(recipe_of(SECTIONS["convolution"]).model, BINS, UNITS.size))[1].keys()
    assert names & set(STACKS) == {"convolution_lstm_stack"}


def test_a_convolution_of_windows_as_long_as_a_vector_may_be_given_as_one_over_frames_and_bins():
    section = SECTIONS["convolution"]
    convolution = section["convolution"] | {"pool_bins": 2, "pooled_width_bins": 1}
    model = build_model(recipe_of(section | {"convolution": convolution}).model, BINS, UNITS.size, seed=1)
    weights = {name: np.asarray(value) for name, value in stack_functions(model)["convolution_lstm_stack"]().items()}
    frames, pool = weights.pop("convolution")
    sizes = {"convolution_2d": np.int32([[frames, 1, pool], [1, 1, 1]]), "convolution_frames": np.int32([frames])}
    start = packed(model.initial_state(1))
    ((expected, after),) = StackBatch(weights | {"convolution": np.int32([frames, pool])}).steps([vectors(9)], [start])
    ((found, state),) = StackBatch(weights | sizes).steps([vectors(9)], [start])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(state, after)


def test_a_stack_that_differs_from_the_graph_is_not_exported(tmp_path, monkeypatch):
    class Wrong(StackBatch):
        def __init__(self, weights):
            super().__init__(weights | {"bias_0": weights["bias_0"] + np.float32(0.01)})

    recipe = recipe_of(SECTIONS["lstm_ctc"])
    bins = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz).bins
    monkeypatch.setattr("sonorant.export.loading.StackBatch", Wrong)
    with pytest.raises(BadExport, match="differs from the graph of the trained one"):
        export_model(build_model(recipe.model, bins, UNITS.size, seed=1), recipe, UNITS, tmp_path)


def test_features_of_another_type_or_order_are_taken_as_a_graph_takes_them(model, tmp_path):
    module, functions = signatures(model)
    save_module(module, tmp_path, functions)
    stack = StackBatch(weights_of(tmp_path))
    start = packed(model.initial_state(1))
    ((expected, _),) = stack.steps([vectors(9)], [start])
    for other in (vectors(9).astype(float), np.asfortranarray(vectors(9))):
        ((found, _),) = stack.steps([other], [start])
        np.testing.assert_array_equal(found, expected)


def test_an_export_without_the_stack_is_served_by_its_graphs(tmp_path, monkeypatch):
    """As recognizers before the stack wrote and served them."""
    recipe = recipe_of(SECTIONS["level"])
    bins = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz).bins
    model = build_model(recipe.model, bins, UNITS.size, seed=1)
    features = np.random.default_rng(0).uniform(0.1, 3, (30, bins)).astype(np.float32)

    def recognized(exports):
        exported = load_exported(export_model(model, recipe, UNITS, exports).path)
        return exported.step(features, exported.initial_state())[0]

    now = recognized(tmp_path / "now")
    monkeypatch.setattr("sonorant.export.signatures.stack_functions", lambda _: {})
    before = recognized(tmp_path / "before")
    assert not np.array_equal(now, before)  # the sums have another order
    np.testing.assert_allclose(now, before, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("convolution_frames", np.int32([3, 3])),
        ("convolution_frames", np.float32([3])),
        ("convolution_frames", np.int32(3)),
        ("convolution_2d", np.int32([[2, -1, 1]])),
        ("convolution_2d", np.int32([2, 1, 1])),
        ("convolution_2d", np.int32([[2, 1]])),
    ],
)
def test_numbers_that_are_no_sizes_of_a_convolution_are_refused_by_name(name, value):
    weights = {
        "mean": np.zeros(12, np.float32),
        "convolution_frames": np.int32([3]),
        "convolution_2d": np.int32([[2, 1, 1]]),
    }
    layer = {"weight_0": np.zeros((2, 4), np.float32), "bias_0": np.zeros(4, np.float32)}
    rest = {"deviation": weights["mean"], "level": np.zeros(0), "running_mean": np.zeros(0)}
    projection = {"projection_weight": np.zeros((1, 1), np.float32), "projection_bias": np.zeros(1, np.float32)}
    with pytest.raises(ValueError, match=f"{name}: .*expected sizes"):
        StackBatch(weights | layer | rest | projection | {name: value})
