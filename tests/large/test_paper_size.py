"""Systems at the papers' sizes: built from their recipes, and two steps on random audio."""

import multiprocessing
import os
import resource
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sonorant.delivery.example import Example, Lineage
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe.loading import load_recipe
from sonorant.tensorflow import keras
from sonorant.text.units import Units
from sonorant.training.batch import collate
from sonorant.training.collective import SingleProcess
from sonorant.training.labeller import Labeller
from sonorant.training.step import Notes, TrainStep
from sonorant.training.text_labeller import TextLabeller

RECIPES = Path(__file__).parents[2] / "recipes"
COPIES = 5  # of each weight: itself, its gradient, two moments of Adam, and one in passing
UNITS = {  # of those that are not the recipe's `text.pieces`
    "librispeech-deepspeech": 28,  # a to z, space and apostrophe: Deep Speech, section 2
    "common-voice-thesis": 8004,  # words of the training set: the thesis' chapter on Common Voice
}
PROCESS_BYTES = 1 << 29  # of TensorFlow, and the rest


def available_bytes():
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("librispeech-bfa", 372_000_000),
        ("librispeech-mocha", 152_000_000),
        ("librispeech-lstm-lm", 140_300_000),
        ("librispeech-transformer-lm", 314_000_000),  # as the paper's configuration says
    ],
)
def test_a_system_at_the_papers_size_takes_two_steps_in_memory_of_five_times_its_weights(name, parameters, capsys):
    takes_two_steps(name, parameters, COPIES * 4 * parameters + PROCESS_BYTES, capsys)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("librispeech-deepspeech", 28_348_445), ("librispeech-google", 29_023_232), ("common-voice-thesis", 42_028_613)],
)
def test_a_smaller_system_at_its_papers_size_takes_two_steps_in_a_gigabyte_and_a_half(name, parameters, capsys):
    takes_two_steps(name, parameters, 3 << 29, capsys)


def takes_two_steps(name, parameters, needed_bytes, capsys):
    if available_bytes() < needed_bytes:
        pytest.skip(f"{parameters} parameters in training need {needed_bytes / 2**30:.1f} GiB of memory")
    # In a process of its own: TensorFlow frees nothing of a model whose graphs were traced.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        found, applied, peak_bytes = process.submit(two_steps, name).result()
    with capsys.disabled():
        print(f" {name}: {found:,} parameters, {peak_bytes / 2**30:.1f} GiB")
    assert found == pytest.approx(parameters, rel=0.01)
    assert applied == [True, True]
    assert peak_bytes < needed_bytes


def two_steps(name):
    """Number of parameters; whether each step was applied; peak of this process' memory."""
    keras.initializers.Orthogonal = keras.initializers.GlorotUniform  # which takes no time
    recipe = load_recipe(RECIPES / f"{name}.yaml")
    units = Units("words", tuple(f"w{i}" for i in range(UNITS.get(name, recipe.text.pieces))))
    model = build_model(recipe.model, recipe.vector_bins, units.size, seed=recipe.seed)
    found = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
    objective = build_objective(recipe, units)
    labeller = (TextLabeller if recipe.of_text else Labeller)(objective, [1])
    batch = collate(0, 0, [labeller(_noise(recipe))], objective.padding)
    step = TrainStep(model, objective, recipe, SingleProcess())
    applied = [step(batch.tensors, number, Notes()).applied for number in range(2)]
    return found, applied, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _noise(recipe):
    example = Example(Lineage(0, 0, 0), "noise", "w1 w9 w4", 16000, 0.5)
    if recipe.of_text:
        return example
    audio = np.random.default_rng(1).normal(0, 0.1, recipe.corpus.sample_rate_hz // 2).astype(np.float32)
    return example._replace(features=FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz)(audio))
