"""The tiny task with a symbol for each frame, in closed form: the bin that is lit, where the last one is silence."""

from dataclasses import replace

import numpy as np
from rigs.tiny_convolution import SECTION as CONVOLUTION
from rigs.tiny_convolution import SECTION_2D
from training.tiny import BINS, WORDS, shard_counts, tiny_example, tiny_recipe, tiny_units

from sonorant.models.registry import build_model
from sonorant.objectives.ctc import CtcObjective
from sonorant.objectives.frame_cross_entropy import FrameCrossEntropy
from sonorant.recipe.schema import Recipe
from sonorant.training.labeller import Labeller

CTC = {"objective": "ctc", "aligner": ""}
LOSSES = {"cross-entropy": {}, "guided ctc": CTC | {"alignment_weight": 0.5, "alignment_steps": 10}}
PLAIN = {"family": "lstm_ctc", "layers": 2, "cells": 8, "dropout": 0.0}
FAMILIES = {
    "lstm_ctc": PLAIN,
    "running level and mean": PLAIN | {"level": "running", "normalisation": "running", "memory_vectors": 8},
    "delayed_lstm": PLAIN | {"family": "delayed_lstm", "delay_vectors": 3},
    "convolution": PLAIN | {"convolution": CONVOLUTION},
    "convolution_2d": PLAIN | {"convolution_2d": SECTION_2D | {"batch_normalisation": False}},
    "convolution_2d, late": PLAIN
    | {"family": "delayed_lstm", "delay_vectors": 3, "convolution_2d": SECTION_2D | {"batch_normalisation": False}},
}


def align(features):
    return np.minimum(features.argmax(1), len(WORDS))


def align_all(features, labels):
    return [align(vectors) for vectors in features]


def frame_recipe(model=PLAIN, **training) -> Recipe:
    values = tiny_recipe().model_dump(mode="json")
    values["model"] = model
    values["training"] |= {"objective": "frame_cross_entropy", "aligner": "in closed form"} | training
    return Recipe.model_validate(values)


def objective_of(recipe):
    """Return CTC, if the recipe says so, or cross-entropy of frames."""
    if recipe.training.objective == "ctc":
        return CtcObjective(recipe.training, tiny_units(), recipe.features, recipe.model.framing)
    return FrameCrossEntropy(tiny_units(), recipe.model.framing, align_all)


def normalised_model(recipe):
    model = build_model(recipe.model, BINS, len(WORDS), seed=1)
    model.set_normalisation([tiny_example(o).features for o in range(20)], lambda moments: moments)
    return model


def labelled(recipe, ordinals):
    label = Labeller(objective_of(recipe), shard_counts(max(ordinals) + 1))
    items = [label(tiny_example(o)) for o in ordinals]
    return [replace(item, targets={**item.targets, "frames": align(item.features)}) for item in items]
