"""A small MoChA model and the recipe it is of."""

import numpy as np

from sonorant.models.mocha import Mocha
from sonorant.models.section import MochaRecipe

SECTION = {
    "family": "mocha",
    "layers": 2,
    "cells": 8,
    "pooling": [2],
    "decoder_cells": 10,
    "embedding": 5,
    "attention": 7,
    "readout": 12,
    "dropout": 0.1,
}


def tiny_mocha(bins=6, units=4, seed=3, **section):
    """Return a model whose heads stop here and there, which those of first weights never do."""
    model = Mocha(MochaRecipe.model_validate({**SECTION, **section}), bins, units, seed)
    rng = np.random.default_rng(seed)
    weights = model.named_weights()
    for name in ("decoder/readout", *(f"{kind}/{part}" for kind in KINDS for part in ("query", "key", "energy"))):
        weights[name] = rng.normal(0, 1.5, weights[name].shape).astype(np.float32)
    weights["attention/scale"], weights["attention/offset"] = np.float32(6), np.float32(0)
    model.assign(weights)
    return model


KINDS = ("monotonic", "chunkwise")
