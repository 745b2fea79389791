"""Blocks in a row give what the loop over time gives, which was all that exports had before."""

import numpy as np
import pytest
from rigs.babble import UNITS, babble_recipe
from rigs.tiny_mocha import SECTION as MOCHA

from sonorant.export.fixed_batch import BATCH
from sonorant.export.packed_stream import MOST_BLOCKS, PackedStream
from sonorant.export.saved_session import load_signatures
from sonorant.export.signatures import signatures
from sonorant.models.registry import build_model
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import save_module

BINS = 60
CONVOLUTION = {"frames": 3, "filters": 4, "size": 10}  # without one it is a stack of layers, and has no blocks


LSTM_CTC = {"family": "lstm_ctc", "layers": 2, "cells": 9, "convolution": CONVOLUTION}


@pytest.fixture(scope="module", params=[LSTM_CTC, MOCHA, MOCHA | {"look_ahead": 3}])
def model(request):
    section = Recipe.model_validate(babble_recipe().model_dump(mode="json") | {"model": request.param}).model
    return build_model(section, BINS, UNITS.size, seed=1)


@pytest.fixture(scope="module", params=["blocks in a row", "an export of before"])
def packed(model, request, tmp_path_factory):
    module, functions = signatures(model)
    if request.param == "an export of before":
        functions = {name: functions[name] for name in ("start", "stream")}
    folder = tmp_path_factory.mktemp("saved")
    save_module(module, folder, functions)
    states = [state.numpy() for state in model.initial_state(1)]
    return PackedStream(load_signatures(folder), output(model), model.framing.step, states)


@pytest.fixture(scope="module")
def looped(model):
    """What the loop over time makes of vectors."""
    function = signatures(model)[1]["stream"]

    def looped(vectors):
        found = function(vectors, *model.initial_state(BATCH))
        after = [np.reshape(found[f"state_{i}"], (BATCH, -1)) for i in range(len(found) - 1)]
        return found[output(model)], np.concatenate(after, axis=1)

    return looped


def output(model):
    return "encoded" if model.search == "monotonic" else "log_probs"


@pytest.mark.parametrize("blocks", range(1, MOST_BLOCKS + 1))
def test_blocks_in_a_row_are_the_loop_s_outputs_and_states(model, packed, looped, blocks):
    block, frames = model.framing.step, model.framing.at_once
    vectors = np.random.default_rng(blocks).standard_normal((BATCH, blocks * block, BINS)).astype(np.float32)
    outputs, after = packed(vectors, np.stack([packed.start] * BATCH))
    for count in range(1, blocks + 1):
        expected, state = looped(vectors[:, : count * block])
        np.testing.assert_allclose(outputs[:, : count * frames], expected, atol=1e-6)
        np.testing.assert_allclose(after[:, count - 1], state, atol=1e-6)
    assert (outputs.shape[1], after.shape[1]) == (blocks * frames, blocks)
