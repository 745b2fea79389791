"""Moving moments of batch normalisation over steps: of all batches that make a step, and of no others."""

import numpy as np
from rigs.tiny_convolution import SECTION_2D
from training.tiny import BINS, shard_counts, tiny_example, tiny_recipe, tiny_units

from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import tf
from sonorant.training.batch import collate
from sonorant.training.collective import SingleProcess
from sonorant.training.labeller import Labeller
from sonorant.training.step import Notes, TrainStep

FIRST = "conv2d_0_normal"  # whose values no other normalisation is before


def stepped(batches, **training):
    """Return the last batch's features, one utterance after another, and the step after a call for each batch."""
    values = tiny_recipe(**training).model_dump(mode="json")
    values["model"] = {"family": "lstm_ctc", "layers": 1, "cells": 8, "dropout": 0.0, "convolution_2d": SECTION_2D}
    recipe = Recipe.model_validate(values)
    objective = build_objective(recipe, tiny_units())
    step = TrainStep(build_model(recipe.model, BINS, tiny_units().size, seed=1), objective, recipe, SingleProcess())
    label, features = Labeller(objective, shard_counts(22)), None
    for ordinals in batches:
        examples = [label(tiny_example(o)) for o in ordinals]
        step(collate(0, 0, examples, objective.padding).tensors, 0, Notes())
        features = np.concatenate([tiny_example(o).features for o in ordinals])
    return features, step


def moments(weights):
    return {name: value for name, value in weights.items() if name.endswith(("_normal/mean", "_normal/variance"))}


def test_a_rank_without_a_batch_adds_nothing_to_them():
    _, step = stepped([])
    inputs = (step._no_batch, step._rates(0), step._seed(0), tf.zeros(len(Notes._fields)))
    sums = step._called(step._summed_graph, *inputs)
    width = 2 * 5 + 1  # of the first layer: sums, squares, and their number
    assert any(tuple(one.shape) == (width,) for one in sums)
    for one in sums:
        if tuple(one.shape) in ((width,), (2 * 4 + 1,)):
            assert not one.numpy().any()


def test_a_step_of_several_batches_moves_them_to_those_of_all():
    _, many = stepped([range(5), range(5, 6), range(6, 12)], accumulate_batches=3)
    _, one = stepped([range(12)])
    many, one = (step.model.named_weights() for step in (many, one))
    for name in (f"{FIRST}/mean", f"{FIRST}/variance", f"{FIRST}/steps"):
        np.testing.assert_allclose(many[name], one[name], rtol=1e-4, atol=1e-5)
    assert many[f"{FIRST}/steps"] == 1


def test_the_first_step_s_are_those_of_its_batch():
    features, step = stepped([range(12)], learning_rate=1e-9)
    model = step.model
    bins = tf.transpose(model.normalisation.whole(features[None])[0])
    found = model.convolution.convolutions[0](bins[tf.newaxis, ..., tf.newaxis])
    after = model.named_weights()
    np.testing.assert_allclose(after[f"{FIRST}/mean"], np.mean(found, (0, 1, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(after[f"{FIRST}/variance"], np.var(found, (0, 1, 2)), rtol=1e-4, atol=1e-5)
