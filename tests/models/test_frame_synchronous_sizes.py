"""The frame-synchronous systems at the papers' sizes: built, and two steps on random features."""

from pathlib import Path

import numpy as np
import pytest
from training.tiny import tiny_recipe

from sonorant.delivery.example import Example, Lineage
from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe import Recipe
from sonorant.recipe.loading import load_recipe
from sonorant.tensorflow import keras
from sonorant.text.units import Units
from sonorant.training.batch import collate
from sonorant.training.collective import SingleProcess
from sonorant.training.labeller import Labeller
from sonorant.training.step import Notes, TrainStep

CHARACTERS = Units("words", tuple("abcdefghijklmnopqrstuvwxyz'"))
SYSTEMS = {
    # Hannun 2014, section 5.1: 80 linear filter banks and an energy, 9 vectors of context, 2048 units a layer.
    "deep_speech": (81, CHARACTERS, {"cells": 2048, "context_vectors": 9}),
    # The thesis' M33: 64 log-mel bins, five layers of 960.
    "conv_lstm_ctc": (64, CHARACTERS, {"layers": 5, "cells": 960}),
    # Google 2017, section 4: 4 x 128 log-mel bins by 5 layers of 768 ; words for states.
    "delayed_lstm": (480, Units("words", tuple(f"w{i}" for i in range(8191))), {"layers": 5, "cells": 768}),
}


def expected_parameters(family, bins, symbols):
    if family == "deep_speech":
        return 19 * bins * 2048 + 2048 + 4 * (2048 * 2048 + 2048) + 2 * 2048 * 2048 + 2049 * symbols
    if family == "conv_lstm_ctc":
        normal = 2 * (bins + 256 + 5 * 960)
        lstm = sum(4 * 960 * (inputs + 960 + 1) + 3 * 960 for inputs in (256, 960, 960, 960, 960))
        return 8 * bins * 256 + 256 + normal + lstm + 961 * symbols
    return sum(4 * 768 * (inputs + 768 + 1) for inputs in (480, 768, 768, 768, 768)) + 769 * symbols


@pytest.mark.parametrize("family", SYSTEMS)
def test_a_system_at_the_paper_s_size_takes_two_steps(family, monkeypatch):
    monkeypatch.setattr(keras.initializers, "Orthogonal", keras.initializers.GlorotUniform)  # which takes no time
    bins, units, section = SYSTEMS[family]
    values = tiny_recipe(optimizer="nesterov", learning_rate=1e-5).model_dump(mode="json")
    recipe = Recipe.model_validate(values | {"model": {"family": family, **section}})
    model = build_model(recipe.model, bins, units.size, seed=1)
    found = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
    assert found == expected_parameters(family, bins, units.size + 1)
    objective = build_objective(recipe, units)
    features = np.random.default_rng(1).standard_normal((20, bins), np.float32)
    text = " ".join(units.symbols[:2])
    example = Example(Lineage(0, 0, 0), "noise", text, 8000, 0.2, features=features)
    batch = collate(0, 0, [Labeller(objective, [1])(example)], objective.padding)
    step = TrainStep(model, objective, recipe, SingleProcess())
    results = [step(batch.tensors, number, Notes()) for number in range(2)]
    assert all(result.applied and np.isfinite(result.loss) for result in results)


@pytest.mark.parametrize(
    ("name", "bins"),
    [("librispeech-deepspeech", 80), ("common-voice-thesis", 64), ("librispeech-google", 480)],  # no energy: 80 for 81
)
def test_a_recipe_has_the_paper_s_size(name, bins):
    recipe = load_recipe(Path(__file__).parents[2] / f"recipes/{name}.yaml")
    _, _, section = SYSTEMS[recipe.model.family]
    assert recipe.vector_bins == bins
    assert {key: getattr(recipe.model, key) for key in section} == section
