"""`sonorant train` before anything is trained; tests/services/local has the training."""

import re
import shlex
import subprocess
import sys

from click.testing import CliRunner
from small_corpus import digits_recipe, write_digits

from sonorant.cli.train import command
from sonorant.corpus.prepared import check_prepared
from sonorant.errors import BadCorpus, BadRecipe
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder


def hint(options):
    """Return the error of a training without shards, and the command that it names."""
    error = CliRunner().invoke(command, options).exception
    (named,) = re.findall(r"run `sonorant (.*)` first$", str(error))
    return error, shlex.split(named)


def test_the_command_that_prepares_can_be_pasted(tmp_path):
    data, recipe, run = write_digits(tmp_path / "my data"), tmp_path / "tiny.yaml", RunFolder(tmp_path / "run")
    recipe.write_text(dump_recipe(digits_recipe()))
    options = ["--recipe", str(recipe), "--run", str(run.path), "--data", str(data), "--set", "seed=3"]
    error, named = hint(options)
    assert isinstance(error, BadCorpus)
    subprocess.run([sys.executable, "-m", "sonorant.cli", *named], check=True, capture_output=True, timeout=120)
    check_prepared(digits_recipe().model_copy(update={"seed": 3}), run)
    error, named = hint([*options, "--set", "seed=4"])
    assert isinstance(error, BadRecipe)
    assert named[-2:] == ["--set=seed=3", "--set=seed=4"]


def test_what_is_not_given_is_not_in_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(dump_recipe(digits_recipe()))
    assert hint(["--recipe", "tiny.yaml"])[1] == ["prepare", "--recipe", "tiny.yaml", "--run", "runs/tiny"]
