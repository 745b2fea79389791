"""A stream has the same bits alone and in any company, at any place in it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rigs.babble import UNITS, babble_recipe
from rigs.tiny_mocha import SECTION as MOCHA

from sonorant.export.fixed_batch import BATCH, blocks_of_call
from sonorant.export.loading import load_exported
from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.registry import build_model
from sonorant.recipe.schema import Recipe

CONVOLUTION = {"frames": 3, "filters": 32, "size": 24}  # rows of one product for all its positions differ
CONVOLUTION_2D = {
    "frames": 3,
    "layers": [{"filters": 32, "width_frames": 2}, {"filters": 24, "width_frames": 2}],
    "size": 24,
}
FAMILIES = {
    "lstm_ctc": {"family": "lstm_ctc", "layers": 2, "cells": 24, "level": "running", "normalisation": "running"},
    "delayed_lstm": {"family": "delayed_lstm", "layers": 1, "cells": 24, "delay_vectors": 3},
    "conv_lstm_ctc": {"family": "conv_lstm_ctc", "width_vectors": 4, "filters": 9, "layers": 1, "cells": 17},
    "mocha": MOCHA | {"cells": 19},
    "mocha, look-ahead": MOCHA | {"cells": 9, "look_ahead": 3},
    "mocha, convolution": MOCHA | {"cells": 19, "convolution": CONVOLUTION},
    "mocha, convolution_2d": MOCHA | {"cells": 19, "convolution_2d": CONVOLUTION_2D},
    "mocha, look-ahead, convolution_2d": MOCHA | {"cells": 9, "look_ahead": 2, "convolution_2d": CONVOLUTION_2D},
    "lstm_ctc, convolution": {"family": "lstm_ctc", "layers": 1, "cells": 24, "convolution": CONVOLUTION},
}


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tmp_path_factory):
    recipe = babble_recipe().model_dump(mode="json") | {"name": "company", "model": FAMILIES[request.param]}
    recipe = Recipe.model_validate(recipe)
    bins = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz).bins
    trained = build_model(recipe.model, bins, UNITS.size, seed=1)
    trained.set_normalisation([vectors(50, bins, seed=0)], lambda moments: moments)
    return load_exported(export_model(trained, recipe, UNITS, tmp_path_factory.mktemp("exports")).path)


def vectors(count, bins, seed):
    return np.random.default_rng(seed).normal(0.5, 2, (count, bins)).astype(np.float32)


def frames(model, chunks, companions, place, rng):
    """Return a stream's outputs, chunk by chunk, among others with chunks of their own."""
    states = [model.initial_state() for _ in range(companions + 1)]
    found = []
    for chunk in chunks:
        due = [vectors(rng.integers(0, 9), model.extractor.bins, rng.integers(1000)) for _ in range(companions)]
        due.insert(place, chunk)
        results = model.steps(list(zip(due, states, strict=True)))
        states = [state for _, state in results]
        found.append(results[place][0])
    return np.concatenate([*found, model.finish(states[place])])


@pytest.mark.parametrize("companions", [1, BATCH - 1, BATCH, 64])
def test_company_changes_no_bit_whatever_a_stream_s_place(model, companions):
    rng = np.random.default_rng(companions)
    chunks = np.split(vectors(30, model.extractor.bins, seed=5), [3, 4, 9, 17])
    alone = frames(model, chunks, 0, 0, rng)
    assert len(alone) >= 6
    for place in {0, 1, companions // 2, companions}:
        np.testing.assert_array_equal(frames(model, chunks, companions, place, rng), alone)
    np.testing.assert_array_equal(frames(model, [np.concatenate(chunks)], companions, 1, rng), alone)


def test_a_stream_keeps_nothing_of_its_company(model):
    due = [(vectors(8, model.extractor.bins, seed), model.initial_state()) for seed in range(BATCH)]
    for _, state in model.steps(due):
        assert state.packed.base is None
        assert state.packed.shape == model.initial_state().packed.shape


def calls(left, blocks_of=blocks_of_call):
    """The blocks of each call until all streams are done."""
    found = []
    while left := sorted((count for count in left if count), reverse=True):
        found.append(blocks_of(left))
        left = [max(0, count - found[-1]) for count in left[:BATCH]] + left[BATCH:]
    return found


def without_padding(left):
    return left[:BATCH][-1]


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ([3] * 3 + [2] * 3, [3]),  # one call, though three streams have padding
        ([3] * 10 + [2] * 10, [2, 2]),  # without padding first, since calls of 3 and 2 are a block more
        ([3] * 14 + [2] * 14, [3, 2]),  # five blocks in any way
        ([9] + [1] * 20, [1, 8]),
    ],
)
def test_calls_are_as_few_as_they_can_be_without_a_block_more(left, expected):
    assert calls(left) == expected


@given(st.lists(st.integers(1, 5), min_size=1, max_size=70))
def test_padding_saves_calls_and_costs_no_block(left):
    expected = calls(left, without_padding)
    found = calls(left)
    assert sum(found) == sum(expected)
    assert len(found) <= len(expected)
