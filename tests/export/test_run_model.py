import subprocess
import sys

import numpy as np
import pytest
from rigs.babble import UNITS, babble_model, babble_recipe

from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.export.run_model import export_run
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoints import BadCheckpoint, Checkpoint, Checkpoints, Progress
from sonorant.training.identity import identity


@pytest.fixture
def run(tmp_path):
    """A run with two checkpoints: step 10 is the best, step 20 the latest."""
    recipe, folder = babble_recipe(), RunFolder(tmp_path)
    folder.shards.mkdir()
    folder.recipe.write_text(dump_recipe(recipe))
    (folder.shards / "units.json").write_text(UNITS.to_json())
    checkpoints = Checkpoints(folder.checkpoints, keep=3, warn=pytest.fail)
    for step in (10, 20):
        weights = babble_model(recipe, seed=step).named_weights()
        stale = {name: np.zeros_like(array) for name, array in weights.items()}
        checkpoint = Checkpoint(Progress(step=step), identity(recipe), stale, weights, {}, {}, b"")
        checkpoints.save(checkpoint, best=step == 10)
    return folder


@pytest.mark.parametrize(("which", "step"), [("best", 10), ("latest", 20), ("10", 10)])
def test_the_checkpoint_asked_for_is_exported_with_its_evaluated_weights(run, which, step):
    model = load_exported(export_run(run, which).path)
    features = np.random.default_rng(5).standard_normal((1, 30, model.extractor.bins)).astype(np.float32)
    expected, _ = babble_model(babble_recipe(), seed=step).step(features, list(model.initial_state().tensors))
    np.testing.assert_allclose(model.step(features[0], model.initial_state())[0], expected[0], atol=1e-5)


def test_the_same_model_makes_no_new_version_another_does(run):
    exports = [export_run(run, which) for which in ("best", "10", "latest")]
    assert [(e.version, e.is_new) for e in exports] == [(1, True), (1, False), (2, True)]
    assert [e.path for e in exports] == [run.exports / "babble" / version for version in ("1", "1", "2")]


def test_a_changed_recipe_makes_a_new_version(run):
    export_run(run)
    run.recipe.write_text(dump_recipe(babble_recipe(max_streams=3)))
    assert export_run(run).version == 2


def test_how_the_model_was_trained_makes_no_new_version(run):
    export_run(run)
    changed = babble_recipe().model_dump(mode="json") | {"pipeline": {"layout": "fused"}, "training": {"epochs": 7}}
    run.recipe.write_text(dump_recipe(Recipe.model_validate(changed)))
    assert not export_run(run).is_new


def test_a_damaged_version_is_not_taken_for_the_same_model(run):
    (export_run(run).path / "units.json").write_text("[]")
    assert export_run(run).version == 2


def test_an_export_that_is_done_does_not_load_tensorflow(run):
    export_run(run)
    program = f"""
import pathlib, sys
from sonorant.export.run_model import export_run
from sonorant.run_folder import RunFolder
print(export_run(RunFolder(pathlib.Path({str(run.path)!r}))).is_new, "tensorflow" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["False", "False"], said.stderr


def test_a_checkpoint_that_is_not_there_is_named(run):
    with pytest.raises(BadCheckpoint, match="'30'"):
        export_run(run, "30")


def test_a_recipe_of_another_model_is_refused(run):
    run.recipe.write_text(run.recipe.read_text().replace("cells: 24", "cells: 25"))
    with pytest.raises(BadExport, match=r"model\.cells: 24 then, 25 now"):
        export_run(run)


def test_missing_units_are_named(run):
    (run.shards / "units.json").unlink()
    with pytest.raises(BadExport, match=r"units\.json"):
        export_run(run)
