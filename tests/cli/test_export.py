"""`sonorant export` beside what it exports, which tests/export has."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from training.tiny import tiny_recipe, tiny_units

from sonorant.cli.export import command
from sonorant.export.saved_model import export_model
from sonorant.models.registry import build_model
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe


def recipe_of(seed):
    values = tiny_recipe().model_dump(mode="json", exclude_defaults=True)
    return Recipe.model_validate(values | {"seed": seed, "corpus": {"reader": "word_folders", "path": "words"}})


@pytest.mark.parametrize("seed", [1, 2])
def test_members_that_were_trained_on_other_splits_are_told(tmp_path, monkeypatch, seed):
    run, other = recipe_of(1), recipe_of(seed)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/recipe.yaml").write_text(dump_recipe(run))
    model = build_model(other.model, other.vector_bins, tiny_units().size, seed=seed)
    exported = export_model(model, other, tiny_units(), tmp_path)
    monkeypatch.setattr("sonorant.export.run_model.export_run", lambda *given: exported)
    done = CliRunner().invoke(command, ["--run", str(tmp_path / "run"), "--with", str(exported.path)])
    assert done.exit_code == 0, done.output
    assert ("was trained on other splits of words (seed 2, here 1)" in done.stderr) == (seed == 2)
    assert Path(exported.path).is_dir()
