"""training.init_from: what matches is loaded, the rest is listed, and resuming never reads it."""

import shutil

import numpy as np
import pytest
from rigs.tiny_bfa import tiny_bfa
from training.harness import run, tiny_trainer, weights
from training.tiny import BINS, tiny_recipe, tiny_units

from sonorant.delivery.ledger import MemoryLedger
from sonorant.errors import BadRecipe
from sonorant.export.saved_model import export_model
from sonorant.models.registry import build_model
from sonorant.report.journal import read_journal
from sonorant.text.units import Units
from sonorant.training.checkpoints import BadCheckpoint, load_checkpoint
from sonorant.training.initial_weights import InitialWeights, Source, read_source

BY_UNIT = ("projection/bias", "projection/kernel")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A run of one epoch, whose average differs from its weights."""
    folder = tmp_path_factory.mktemp("source")
    run(tiny_trainer(tiny_recipe(epochs=1, weight_average=0.9), folder, MemoryLedger(22), total=22))
    return folder


def begun(recipe, folder):
    """Return the trainer of a new run, and its weights and average when the first step begins."""
    trainer = tiny_trainer(recipe, folder, MemoryLedger(22), total=22)
    step, found = trainer.parts.step, []
    start_from = step.start_from

    def start(initial):
        start_from(initial)
        found.append(step.model.named_weights())
        with step.average.applied():
            found.append(step.model.named_weights())

    step.start_from = start
    run(trainer)
    return trainer, found


def test_a_new_run_begins_with_weights_normalisation_and_average_of_another(source, tmp_path):
    expected = load_checkpoint(source / "checkpoints", "best").evaluated
    recipe = tiny_recipe(epochs=1, init_from=str(source), weight_average=0.5)
    trainer, found = begun(recipe, tmp_path)
    assert trainer.parts.initial.unmatched == ()
    assert any("normalisation" in name for name in expected)
    for begin in found:
        for name, array in expected.items():
            np.testing.assert_array_equal(begin[name], array, err_msg=name)


def with_cells(recipe, cells):
    return recipe.model_copy(update={"model": recipe.model.model_copy(update={"cells": cells})})


def test_moments_of_features_of_another_level_are_not_taken(source):
    recipe = tiny_recipe()
    model = recipe.model.model_copy(update={"level": "running"})
    built = build_model(model, BINS, tiny_units().size, seed=5)
    initial = InitialWeights.of("there", read_source(source), built, tiny_units(), BY_UNIT)
    assert {"lstm_0/weight", "projection/kernel"} <= set(initial.matching)
    assert not any("normalisation" in name for name in initial.matching)
    assert any(line.startswith("relative_normalisation/mean: ") for line in initial.unmatched)


def test_what_does_not_match_stays_and_is_listed_with_both_shapes(source):
    model = build_model(with_cells(tiny_recipe(), 7).model, BINS, tiny_units().size, seed=5)
    before = model.named_weights()
    initial = InitialWeights.of("there", read_source(source), model, tiny_units(), BY_UNIT)
    initial.load(model)
    after = model.named_weights()
    assert set(initial.matching) == {"normalisation/mean", "normalisation/deviation", "projection/bias"}
    assert "lstm_0/weight: [18, 48] in the source, [13, 28] here" in initial.unmatched
    assert (len(initial.unmatched), initial.expected) == (3, 6)
    np.testing.assert_array_equal(after["lstm_0/weight"], before["lstm_0/weight"])
    np.testing.assert_array_equal(after["projection/bias"], initial.matching["projection/bias"])


@pytest.mark.parametrize("place", ["run", "checkpoint", "export"])
def test_weights_of_as_many_other_units_stay_and_are_listed_with_the_first_that_differs(source, tmp_path, place):
    copy = tmp_path / "copy"
    shutil.copytree(source, copy)
    *symbols, last = tiny_units().symbols
    others = Units("words", (*symbols, f"{last}s"))
    (copy / "shards").mkdir()
    (copy / "shards/units.json").write_text(others.to_json())
    folder = copy
    if place == "checkpoint":
        folder = copy / "checkpoints" / (copy / "checkpoints/best").read_text()
    if place == "export":
        model = build_model(tiny_recipe().model, BINS, others.size, seed=7)
        folder = export_model(model, tiny_recipe(), others, tmp_path).path
    expected = read_source(folder).weights
    trainer, (begin, *_) = begun(tiny_recipe(epochs=1, init_from=str(folder)), tmp_path / "new")
    why = f"unit {len(symbols)} is '{last}s' in the source, '{last}' here"
    assert trainer.parts.initial.unmatched == tuple(f"{name}: {why}" for name in BY_UNIT)
    (line,) = read_journal(tmp_path / "new" / "metrics.jsonl")["initial"]
    assert line["unmatched"] == list(trainer.parts.initial.unmatched)
    assert (line["source"], line["of"] - line["loaded"]) == (str(folder), len(BY_UNIT))
    np.testing.assert_array_equal(begin["lstm_0/weight"], expected["lstm_0/weight"])
    assert np.abs(begin["projection/kernel"] - expected["projection/kernel"]).max() > 0.01


def test_a_weight_that_only_one_has_is_listed():
    model = build_model(tiny_recipe().model, BINS, tiny_units().size)
    found = {k: v for k, v in model.named_weights().items() if k != "lstm_0/bias"} | {"old/bias": np.zeros(3)}
    assert InitialWeights.of("there", Source(found, None), model, tiny_units(), BY_UNIT).unmatched == (
        "lstm_0/bias: none in the source, [48] here",
        "old/bias: [3] in the source, none here",
    )


def test_dropout_stays_as_the_recipe_says_whatever_the_source_ended_with():
    source, model = tiny_bfa(dropout=0.4, seed=1), tiny_bfa(dropout=0.1, seed=2)
    initial = InitialWeights.of("there", Source(source.named_weights(), None), model, tiny_units(), BY_UNIT)
    initial.load(model)
    assert initial.unmatched == ()
    expected = source.named_weights() | {"dropout/rate": np.float32(0.1)}
    for name, array in model.named_weights().items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_nothing_that_matches_is_an_error_with_shapes():
    model = build_model(tiny_recipe().model, BINS, tiny_units().size)
    found = Source({"lstm_0/bias": np.zeros(2, np.float32)}, None)
    with pytest.raises(BadRecipe, match=r"init_from=there.*lstm_0/bias: \[2\] in the source, \[48\] here"):
        InitialWeights.of("there", found, model, tiny_units(), BY_UNIT)


def test_checkpoint_and_export_are_read_as_well_as_a_run(source, tmp_path):
    expected = read_source(source).weights
    step = (source / "checkpoints" / "best").read_text()
    recipe = tiny_recipe()
    model = build_model(recipe.model, BINS, tiny_units().size)
    model.assign(expected)
    export = export_model(model, recipe, tiny_units(), tmp_path)
    for folder in (source / "checkpoints" / step, export.path):
        found = read_source(folder).weights
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_a_folder_that_is_none_of_these_is_named(tmp_path):
    with pytest.raises(BadRecipe, match="nowhere: no such folder; expected a run"):
        read_source(tmp_path / "nowhere")
    with pytest.raises(BadRecipe, match="unknown content"):
        read_source(tmp_path)


def test_a_damaged_file_is_named(source, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(source, copy)
    best = copy / "checkpoints" / (copy / "checkpoints" / "best").read_text()
    (best / "arrays.npz").write_bytes(b"cut")
    with pytest.raises(BadCheckpoint, match=r"arrays\.npz: its checksum"):
        read_source(copy)


def test_a_resumed_run_does_not_read_it_and_ends_with_the_same_bits(source, tmp_path):
    copy = tmp_path / "source"
    shutil.copytree(source, copy)
    recipe = tiny_recipe(epochs=2, init_from=str(copy), weight_average=0.9)
    whole = tiny_trainer(recipe, tmp_path / "whole", MemoryLedger(22), total=22)
    run(whole)
    ledger = MemoryLedger(22)
    run(tiny_trainer(recipe, tmp_path / "cut", ledger, total=22, terminate_after=3))
    shutil.rmtree(copy)
    second = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22)
    assert second.parts.initial is None
    run(second)
    np.testing.assert_array_equal(weights(second), weights(whole))
