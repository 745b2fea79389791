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
def streams(request):
    """Of one model, by a signature of a block and by the loop; and its vectors in a block."""
    section = Recipe.model_validate(babble_recipe().model_dump(mode="json") | {"model": request.param}).model
    model = build_model(section, BINS, UNITS.size, seed=1)
    return packed(model, "block"), packed(model, "stream"), model.framing.block


def packed(model, name):
    function = signatures(model)[1][name]
    output = "encoded" if model.search == "monotonic" else "log_probs"
    states = [state.numpy() for state in model.initial_state(1)]
    block = (model.framing.block, BINS)
    return PackedStream(lambda features, **state: function(features, *state.values()), output, block, states)


@pytest.mark.parametrize("blocks", range(1, MOST_BLOCKS + 1))
def test_a_block_s_signature_in_place_of_the_loop_changes_neither_outputs_nor_states(streams, blocks):
    *ways, block = streams
    vectors = np.random.default_rng(blocks).standard_normal((ROWS, blocks * block, BINS)).astype(np.float32)
    found = [way(vectors, np.stack([way.start] * ROWS)) for way in ways]
    for one, other in zip(*found, strict=True):
        assert len(one) == ROWS
        assert np.ptp(one) > 0
        np.testing.assert_allclose(one, other, atol=1e-6)
