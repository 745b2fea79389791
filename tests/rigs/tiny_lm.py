"""Language models that a test can train."""

import numpy as np

from sonorant.models.registry import build_model
from sonorant.recipe.schema import Recipe

LSTM = {"family": "lstm_lm", "layers": 2, "cells": 12, "embedding": 6}
TRANSFORMER = {"family": "transformer_lm", "layers": 2, "size": 12, "heads": 3, "feed_forward": 24, "embedding": 6}
SECTIONS = {"lstm_lm": LSTM, "transformer_lm": TRANSFORMER}


def text_recipe(section=LSTM, order="fast", units="words", **training):
    defaults = {"batch_examples": 4, "pool_examples": 64, "epochs": 2, "warmup_steps": 5, "decay_steps": 100}
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "tiny-lm",
            "corpus": {"reader": "text", "path": "text.txt"},
            "text": {"units": units},
            "pipeline": {"order": order, "layout": "fused"},
            "model": section,
            "training": defaults | {"learning_rate": 0.01, "checkpoint_every_steps": 1000} | training,
        }
    )


def tiny_lm(section=LSTM, units=4, seed=1):
    return build_model(text_recipe(section).model, 0, units, seed)


def spread(model):
    """Weights that make some words much likelier than others."""
    weights = model.named_weights()
    weights["projection/kernel"] = np.random.default_rng(5).normal(0, 3, weights["projection/kernel"].shape)
    model.assign({path: np.asarray(weight, np.float32) for path, weight in weights.items()})
    return model
