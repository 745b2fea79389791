"""A small BFA model and the recipe it is of."""

import numpy as np

from sonorant.models.bfa import Bfa
from sonorant.models.section import BfaRecipe

SECTION = {
    "family": "bfa",
    "layers": 2,
    "cells": 8,
    "pooling": [2],
    "decoder_cells": 10,
    "embedding": 5,
    "attention": 7,
    "readout": 12,
    "dropout": 0.1,
}


def tiny_bfa(bins=6, units=4, seed=3, **section):
    """Return a model whose attention is not as flat as that of first weights."""
    model = Bfa(BfaRecipe.model_validate({**SECTION, **section}), bins, units, seed)
    rng = np.random.default_rng(seed)
    weights = model.named_weights()
    for name in ("attention/query", "attention/key", "attention/feedback", "attention/energy", "decoder/readout"):
        weights[name] = rng.normal(0, 1.5, weights[name].shape).astype(np.float32)
    model.assign(weights)
    return model
