"""Moving moments of batch normalisation over steps: of all batches that make a step, and of no others."""

import numpy as np
import pytest
from rigs.tiny_convolution import SECTION_2D
from training.tiny import BINS, shard_counts, tiny_example, tiny_recipe, tiny_units

from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe.schema import Recipe
from sonorant.training.batch import collate
from sonorant.training.collective import SingleProcess
from sonorant.training.labeller import Labeller
from sonorant.training.step import Notes, TrainStep

FIRST = "conv2d_0_normal"  # whose values no other normalisation is before


def stepped(batches, **training):
    """Return the step after one call a batch, given as ranges of examples, None for a rank without one; its weights."""
    values = tiny_recipe(**training).model_dump(mode="json")
    values["model"] = {"family": "lstm_ctc", "layers": 1, "cells": 8, "dropout": 0.0, "convolution_2d": SECTION_2D}
    recipe = Recipe.model_validate(values)
    objective = build_objective(recipe, tiny_units())
    step = TrainStep(build_model(recipe.model, BINS, tiny_units().size, seed=1), objective, recipe, SingleProcess())
    label, before = Labeller(objective, shard_counts(22)), step.model.named_weights()
    for ordinals in batches:
        examples = [label(tiny_example(o)) for o in ordinals or ()]
        tensors = collate(0, 0, examples, objective.padding).tensors if examples else None
        step(tensors, 0, Notes())
    return before, step.model.named_weights()


def moments(weights):
    return {name: value for name, value in weights.items() if name.endswith(("_normal/mean", "_normal/variance"))}


def test_a_rank_without_a_batch_moves_none():
    before, after = stepped([None])
    assert len(moments(before)) == 4
    for name, value in moments(before).items():
        np.testing.assert_array_equal(after[name], value)


def test_a_step_of_several_batches_moves_them_to_those_of_all():
    _, many = stepped([range(5), range(5, 6), range(6, 12)], accumulate_batches=3)
    _, one = stepped([range(12)])
    for name in (f"{FIRST}/mean", f"{FIRST}/variance", f"{FIRST}/steps"):
        np.testing.assert_allclose(many[name], one[name], rtol=1e-5)
    assert many[f"{FIRST}/mean"] == pytest.approx(one[f"{FIRST}/mean"])
    assert many[f"{FIRST}/steps"] == 1


def test_the_first_step_s_are_those_of_its_batch():
    before, after = stepped([range(12)])
    for name, value in moments(before).items():
        assert np.abs(after[name] - value).max() > 1e-3
