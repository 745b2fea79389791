"""`sonorant text`: what it prints is what was prepared, whole or in units."""

import pytest
from click.testing import CliRunner
from rigs.tiny_lm import text_recipe

from sonorant.cli.text import command
from sonorant.corpus.preparing import prepare
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    (tmp_path / "text.txt").mkdir()
    (tmp_path / "text.txt/train.txt").write_text("Ab a\nba!\n")
    (tmp_path / "text.txt/dev.txt").write_text("a\nac\n")
    recipe = text_recipe(units="characters").model_dump(mode="json")
    prepare(Recipe.model_validate(recipe), tmp_path, RunFolder(tmp_path / "run"), progress=lambda *_: None)
    return str(tmp_path / "run")


def test_transcripts_are_printed_as_they_were_prepared(run):
    done = CliRunner().invoke(command, [run])
    assert done.exit_code == 0
    assert sorted(done.output.splitlines()) == ["ab a", "ba"]


def test_a_file_has_what_is_printed(run, tmp_path):
    done = CliRunner().invoke(command, [run, "--units", "-o", str(tmp_path / "lines.txt")])
    assert (done.exit_code, done.output) == (0, "")
    assert (tmp_path / "lines.txt").read_text() == CliRunner().invoke(command, [run, "--units"]).output


def test_in_units_the_space_is_a_token_and_what_is_not_spelt_is_counted(run):
    assert sorted(CliRunner().invoke(command, [run, "--units"]).output.splitlines()) == ["a b \u2581 a", "b a"]
    done = CliRunner().invoke(command, [run, "--split", "dev", "--units"])
    assert done.stdout.splitlines() == ["a"]
    assert done.stderr == "1 of 2 lines left out: the 3 characters do not spell them\n"
