import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from rigs.babble import RATE_HZ, UNITS, babble_recipe, export_babble, murmur

from sonorant.delivery.example import Example, Lineage
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.export.loading import load_exported
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.framing import Framing
from sonorant.models.registry import build_model
from sonorant.objectives.aligner import Aligner
from sonorant.objectives.forced_alignment import force_align
from sonorant.objectives.frame_cross_entropy import FrameCrossEntropy
from sonorant.objectives.registry import build_objective
from sonorant.recipe import Recipe
from sonorant.text.units import Units
from sonorant.training.batch import collate
from sonorant.training.collective import SingleProcess
from sonorant.training.labeller import Labeller
from sonorant.training.step import Notes, TrainStep


@pytest.fixture(scope="module")
def aligner(tmp_path_factory):
    return export_babble(tmp_path_factory.mktemp("aligner")).path


def recipe_with(aligner, objective="frame_cross_entropy", **changed):
    values = babble_recipe().model_dump(mode="json") | changed
    values["model"] = {"family": "delayed_lstm", "layers": 1, "cells": 16, "delay_vectors": 2, "dropout": 0.0}
    values["training"] |= {"objective": objective, "aligner": str(aligner), "warmup_steps": 0, "learning_rate": 0.02}
    return Recipe.model_validate(values)


@pytest.fixture
def example():
    return utterance(0, "beta gamma gamma", 1.0)


def utterance(number, text, seconds):
    features = FeatureExtractor(babble_recipe().features, RATE_HZ)(murmur(seconds, number))
    return Example(Lineage(0, 0, number), f"u{number}", text, RATE_HZ, seconds, features=features)


def best_path(model, example, labels):
    log_probs, state = model.step(example.features, model.initial_state())
    return force_align(np.concatenate([log_probs, model.finish(state)]), labels, UNITS.blank)


def test_targets_are_the_aligner_s_best_path(aligner, example):
    targets = build_objective(recipe_with(aligner), UNITS).targets(example, len(example.features))
    np.testing.assert_array_equal(targets["frames"], best_path(load_exported(aligner), example, [1, 3, 3]))


def test_examples_are_aligned_in_one_call_each_as_alone_and_those_that_cannot_be_are_no_part_of_it(aligner):
    model = load_exported(aligner)
    asked = []

    def align(features, labels):
        asked.append([len(vectors) for vectors in features])
        return Aligner(model)(features, labels)

    texts = ("alpha", "beta gamma gamma", "", "omega", "beta beta beta", "delta")
    examples = [utterance(number, *one) for number, one in enumerate(zip(texts, (0.4, 1, 1, 1, 0.1, 0.7), strict=True))]
    found = Labeller(FrameCrossEntropy(UNITS, Framing(), align), [len(texts)]).label(examples)
    assert asked == [[len(examples[i].features) for i in (0, 1, 5)]]
    for i, labels in ((0, [0]), (1, [1, 3, 3]), (5, [2])):
        np.testing.assert_array_equal(found[i].targets["frames"], best_path(model, examples[i], labels))
        assert found[i].ordinal == i
    for i, reason in ((2, "empty transcript"), (3, "'omega'"), (4, "CTC needs at least 5")):
        assert reason in found[i].reason


def test_an_aligner_leaves_training_the_threads_that_it_wants(aligner):
    recipe, units = recipe_with(aligner).model_dump(mode="json"), UNITS.to_json()
    program = f"""
import os
from sonorant.objectives.aligner import open_aligner
from sonorant.recipe import Recipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units
tf.config.threading.set_intra_op_parallelism_threads(6)
open_aligner(Recipe.model_validate({recipe!r}), Units.from_json({units!r}))
print(len(os.listdir("/proc/self/task")))
"""
    alone = program.replace("open_aligner(Recipe", "tf.config.list_logical_devices() and (Recipe")
    counts = [
        int(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()[0])
        for text in (program, alone)
    ]
    assert counts[0] >= counts[1]


def test_without_an_example_that_can_be_aligned_the_aligner_has_none():
    def align(features, labels):
        pytest.fail("it was asked")

    labeller = Labeller(FrameCrossEntropy(UNITS, Framing(), align), [1])
    (found,) = labeller.label([utterance(0, "", 1.0)])
    assert "empty transcript" in found.reason
    assert labeller.label([]) == []


def test_a_rejected_example_is_let_go_at_once():
    def align(features, labels):
        return [np.zeros(len(features[0]) - 1, np.int64)]

    labeller = Labeller(FrameCrossEntropy(UNITS, Framing(), align), [1])
    example = utterance(0, "beta", 1.0)
    features = weakref.ref(example.features)
    gc.disable()
    try:
        (found,) = labeller.label([example])
        del example
        assert isinstance(found, RejectedExample)
        del found
        assert features() is None
    finally:
        gc.enable()


def test_training_by_it_makes_the_alignment_probable(aligner, example):
    recipe = recipe_with(aligner)
    objective = build_objective(recipe, UNITS)
    item = Labeller(objective, [1])(example)
    batch = collate(0, 0, [item], objective.padding)
    model = build_model(recipe.model, example.features.shape[1], UNITS.size, seed=1)
    model.set_normalisation([example.features], lambda moments: moments)
    step = TrainStep(model, objective, recipe, SingleProcess())
    losses = [step(batch.tensors, number, Notes()).loss for number in range(60)]
    assert losses[0] == pytest.approx(len(example.features) * np.log(5), rel=0.5)
    assert losses[-1] < losses[0] / 10


def test_too_few_frames_are_rejected_before_the_aligner(aligner, example):
    with pytest.raises(RejectedExample, match="3 feature vectors for 3 units: CTC needs at least 4"):
        build_objective(recipe_with(aligner), UNITS).targets(example, 3)


class ThreeFrames:
    """An aligner's model with 3 frames, whatever the features; each symbol is as probable as any."""

    units = UNITS

    def outputs(self, utterances):
        return [np.zeros((3, 5)) for _ in utterances]


def test_an_example_that_the_aligner_has_too_few_frames_for_is_rejected_alone(example):
    objective = FrameCrossEntropy(UNITS, Framing(), Aligner(ThreeFrames()))
    with pytest.raises(RejectedExample, match="it cannot be aligned: 3 frames for 3 labels"):
        objective.targets(example, len(example.features))
    short = Example(Lineage(0, 0, 1), "short", "alpha beta", RATE_HZ, 0.1, features=example.features[:3])
    first, second = Labeller(objective, [2]).label([example, short])
    assert first.reason == "it cannot be aligned: 3 frames for 3 labels: no path spells them"
    assert second.targets["frames"].tolist() == [0, 1, UNITS.blank]


def test_an_aligner_of_another_framing_is_named(example):
    with pytest.raises(RejectedExample, match="encoded frames, the aligner has 3; expected as many: align with"):
        FrameCrossEntropy(UNITS, Framing(), Aligner(ThreeFrames())).targets(utterance(0, "beta", 1.0), 9)


@pytest.mark.parametrize(
    ("changed", "units", "named"),
    [({"features": {"stack": 2, "stride": 2}}, UNITS, "features"), ({}, Units("words", ("alpha", "beta")), "units")],
)
def test_an_aligner_of_other_features_or_units_is_refused_by_name(aligner, changed, units, named):
    with pytest.raises(BadRecipe, match=f"its {named}: .*expected those of the model"):
        build_objective(recipe_with(aligner, **changed), units)


@pytest.mark.parametrize(("objective", "folder"), [("frame_cross_entropy", ""), ("ctc", "somewhere")])
def test_a_recipe_names_an_aligner_if_and_only_if_it_needs_one(objective, folder):
    with pytest.raises(ValueError, match="frame_cross_entropy needs the folder of an exported CTC model"):
        recipe_with(folder, objective)


def test_an_aligner_that_has_other_numbers_of_frames_is_refused_before_any_example(aligner):
    values = recipe_with(aligner).model_dump(mode="json")
    values["model"] = {"family": "conv_lstm_ctc", "width_vectors": 3, "stride": 1}
    with pytest.raises(BadRecipe, match=r"its frames of 1000 vectors and more: \[1000\]; expected .*, \[998\]"):
        build_objective(Recipe.model_validate(values), UNITS)
