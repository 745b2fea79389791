"""An untrained model: it outputs made-up words for noise, always the same ones, and nothing for silence."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sonorant.export.manifest import MANIFEST, read_manifest
from sonorant.export.saved_model import export_model
from sonorant.export.versions import Export, newest_version
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.registry import build_model
from sonorant.recipe import Recipe
from sonorant.text.units import Units

RATE_HZ = 8000
UNITS = Units("words", ("alpha", "beta", "delta", "gamma"))
_SEEDS = 12  # those before them are of models that say little after quiet, or the same all the time
_EXPORTED = {}  # folder of a first version by what it follows from


def babble_recipe(name="babble", normalisation="global", **serving):
    return Recipe.model_validate(
        {
            "version": 1,
            "name": name,
            "corpus": {"reader": "fsdd", "path": "fsdd", "sample_rate_hz": RATE_HZ},
            "text": {"units": "words"},
            "model": {"family": "lstm_ctc", "layers": 2, "cells": 24, "normalisation": normalisation},
            "serving": serving,
        }
    )


def babble_model(recipe, seed=1, blank=8):
    """Return the model; blank: bias of the blank unit, with 1000 it outputs nothing."""
    extractor = FeatureExtractor(recipe.features, RATE_HZ)
    model = build_model(recipe.model, extractor.bins, UNITS.size, seed=_SEEDS + seed)
    weights = model.named_weights()
    rng = np.random.default_rng(_SEEDS + seed)
    for path, weight in weights.items():
        if path == "projection/kernel":
            weights[path] = rng.standard_normal(weight.shape).astype(np.float32) * 12
        if path == "projection/bias":
            weights[path] = np.array([0, 0, 0, 0, blank], np.float32)
        if path.endswith("running_mean/prior"):
            weights[path] = rng.standard_normal(weight.shape).astype(np.float32)
        if path == "lstm_0/weight":
            weights[path] = weight * np.float32(8)
    model.assign(weights)
    return model


def export_babble(exports, name="babble", seed=1, blank=8, **serving):
    """Write the next version as `export_model` does; what this process has exported before is copied."""
    recipe = babble_recipe(name, **serving)
    key = recipe.model_dump_json(), seed, blank
    if key not in _EXPORTED:
        folder = TemporaryDirectory()
        _EXPORTED[key] = folder, export_model(babble_model(recipe, seed, blank), recipe, UNITS, Path(folder.name)).path
    version = newest_version(exports / name)[0] + 1
    path = exports / name / str(version)
    shutil.copytree(_EXPORTED[key][1], part := path.with_name(f".{version}"))
    (part / MANIFEST).write_text(replace(read_manifest(part), version=version).to_json())
    part.rename(path)  # a recognizer may be looking
    return Export(path, version, is_new=True)


def murmur(seconds, seed=0):
    """Noise with the rhythm of speech: bursts of bands, and pauses."""
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal(round(seconds * RATE_HZ)).astype(np.float32) * 0.1
    t = np.arange(len(samples)) / RATE_HZ
    samples *= (np.sin(2 * np.pi * 3 * t) > -0.3) * (1 + np.sin(2 * np.pi * (200 + 90 * np.floor(t * 3)) * t))
    return (np.rint(samples * 32768) / 32768).astype(np.float32)
