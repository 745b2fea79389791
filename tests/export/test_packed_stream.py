"""Blocks in a row give what the loop over time gives, which was all that exports had before."""

import numpy as np
import pytest
from rigs.babble import UNITS, babble_recipe
from rigs.tiny_mocha import SECTION as MOCHA

from sonorant.export.packed_stream import MOST_BLOCKS, PackedStream
from sonorant.export.signatures import signatures
from sonorant.models.registry import build_model
from sonorant.recipe.schema import Recipe

BINS = 12
ROWS = 3


@pytest.fixture(scope="module", params=[{"family": "lstm_ctc", "layers": 2, "cells": 9}, MOCHA])
def model(request):
    section = Recipe.model_validate(babble_recipe().model_dump(mode="json") | {"model": request.param}).model
    return build_model(section, BINS, UNITS.size, seed=1)


def packed_stream(model, signature, calls):
    """The stream of a signature; calls: gets the shape of each one's features."""
    function = signatures(model)[1][signature]
    states = [state.numpy() for state in model.initial_state(1)]

    def called(features, **state):
        calls.append(features.shape)
        return function(features, *state.values())

    return PackedStream(called, output(model), (model.framing.block, BINS), states, loops=signature == "stream")


@pytest.fixture(scope="module", params=["block", "stream"])
def packed(model, request):
    return packed_stream(model, request.param, [])


@pytest.fixture(scope="module")
def looped(model):
    """What the loop over time makes of vectors."""
    function = signatures(model)[1]["stream"]

    def looped(vectors):
        found = function(vectors, *model.initial_state(ROWS))
        after = [np.reshape(found[f"state_{i}"], (ROWS, -1)) for i in range(len(found) - 1)]
        return found[output(model)], np.concatenate(after, axis=1)

    return looped


def output(model):
    return "encoded" if model.search == "monotonic" else "log_probs"


@pytest.mark.parametrize("blocks", range(1, MOST_BLOCKS + 1))
def test_blocks_in_a_row_are_the_loop_s_outputs_and_states(model, packed, looped, blocks):
    shape = (ROWS, blocks * model.framing.block, BINS)
    vectors = np.random.default_rng(blocks).standard_normal(shape).astype(np.float32)
    found = packed(vectors, np.stack([packed.start] * ROWS))
    for one, expected in zip(found, looped(vectors), strict=True):
        assert one.shape == expected.shape
        np.testing.assert_allclose(one, expected, atol=1e-6)


def test_a_loop_over_time_is_in_one_graph_of_any_number_of_blocks(model):
    packed_stream(model, "stream", calls := [])
    assert [shape.as_list() for shape in calls] == [[None, None, BINS]]
