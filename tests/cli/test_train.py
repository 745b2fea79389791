"""`sonorant train` before anything is trained; tests/services/supervisor has the training."""

import json
import re
import shlex
import subprocess
import sys
from functools import partial

import pytest
from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, record, write_digits
from training.small_checkpoints import checkpoint

from services.supervisor.cluster import Interrupted, LocalCluster
from sonorant.cli.train import SOME_REJECTED, command
from sonorant.corpus.prepared import check_prepared, check_splits
from sonorant.corpus.preparing import prepare
from sonorant.corpus.shards import ShardSet, shard_name, write_shard
from sonorant.errors import BadCorpus, BadRecipe, SonorantError
from sonorant.export.manifest import BadExport
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe, load_recipe
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoints import BadCheckpoint, Checkpoints
from sonorant.training.identity import identity


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


def test_checkpoints_of_another_recipe_are_told_before_shards_of_another(tmp_path):
    recipe, run = digits_recipe(), RunFolder(tmp_path / "run")
    prepare(recipe, write_digits(tmp_path), run, progress=lambda *_: None)
    (tmp_path / "tiny.yaml").write_text(dump_recipe(recipe))
    Checkpoints(run.checkpoints, 1, print).save(checkpoint(1, identity(recipe)), best=True)
    options = ["--recipe", str(tmp_path / "tiny.yaml"), "--run", str(run.path), "--set", "seed=5"]
    refused = CliRunner().invoke(command, options).exception
    assert isinstance(refused, BadCheckpoint)
    assert "another recipe: seed: 0 (default) then, 5 now; train into another run folder, and" in str(refused)


@pytest.mark.parametrize("empty", [False, True])
def test_shards_without_dev_are_refused_before_any_process_starts(tmp_path, empty):
    recipe, run = digits_recipe(strings=None, splits={"dev_fraction": 0.0}), RunFolder(tmp_path / "run")
    prepare(recipe, write_digits(tmp_path), run, progress=lambda *_: None)
    if empty:
        write_shard(run.shards / shard_name("dev", 0, 1), [])
    with pytest.raises(BadCorpus, match="no utterances in dev; training needs some to choose the best checkpoint by"):
        check_splits(run, partial(ShardSet.open, run.shards))
    write_shard(run.shards / shard_name("dev", 0, 1), [record(0)])
    check_splits(run, partial(ShardSet.open, run.shards))


@pytest.mark.parametrize(
    ("decoding", "message"),
    [
        ({"lm": {"path": "no.arpa"}}, r"decoding\.lm\.path=no\.arpa: no such file"),
        ({"phrases": ["one dozen"]}, "phrase 'one dozen': 'dozen' is not among the 10 words"),
    ],
)
def test_a_search_that_could_not_be_exported_is_refused_before_any_process_starts(
    tmp_path, monkeypatch, decoding, message
):
    values = digits_recipe().model_dump(mode="json")
    recipe, run = (
        Recipe.model_validate(values | {"decoding": values["decoding"] | decoding}),
        RunFolder(tmp_path / "run"),
    )
    data = write_digits(tmp_path)
    prepare(recipe, data, run, progress=lambda *_: None)
    monkeypatch.setattr(LocalCluster, "run", lambda _: pytest.fail("it was started"))
    (tmp_path / "tiny.yaml").write_text(dump_recipe(recipe))
    run.recipe.write_text(before := dump_recipe(digits_recipe()))
    options = ["--recipe", str(tmp_path / "tiny.yaml"), "--run", str(run.path), "--data", str(data)]
    with pytest.raises(SonorantError, match=message):
        CliRunner().invoke(command, options, catch_exceptions=False)
    assert run.recipe.read_text() == before


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Return the error of a prepared training of a recipe with these sections, which starts no process."""
    for check in ("check_prepared", "check_splits"):
        monkeypatch.setattr(f"sonorant.cli.train.{check}", lambda *_: None)
    monkeypatch.setattr(LocalCluster, "run", lambda _: pytest.fail("it was started"))
    (tmp_path / "run").mkdir()
    options = ["--recipe", str(tmp_path / "tiny.yaml"), "--run", str(tmp_path / "run"), "--data", str(tmp_path)]

    def error(stages=(), **training):
        values = digits_recipe().model_dump(mode="json") | {"stages": list(stages)}
        values["training"] |= training
        (tmp_path / "tiny.yaml").write_text(dump_recipe(Recipe.model_validate(values)))
        return CliRunner().invoke(command, options).exception

    return error


def test_a_noise_folder_that_is_not_there_is_said_before_any_process_starts(refused, tmp_path):
    error = refused([{"stage": "room", "noise": {"kinds": ["white", "folder"], "folder": "noises"}}])
    assert isinstance(error, BadCorpus)
    assert str(error).startswith(f"noise folder {tmp_path}/noises: no such folder; ")


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], "no such folder"),
        (["notes.txt"], "unknown content"),
        (["recipe.yaml", "shards/units.json"], "a run without checkpoint"),
    ],
)
def test_weights_to_begin_with_that_are_not_there_are_said_before_any_process_starts(refused, tmp_path, files, found):
    for file in files:
        (tmp_path / "base" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "base" / file).touch()
    error = refused(init_from=str(tmp_path / "base"))
    assert isinstance(error, BadRecipe)
    assert f"training.init_from={tmp_path / 'base'}: {found}; expected a run folder, a checkpoint" in str(error)


def test_minimum_word_error_training_without_weights_to_begin_with_is_refused_before_any_process_starts(refused):
    error = refused(mwer_hypotheses=4)
    assert isinstance(error, BadRecipe)
    assert "training.mwer_hypotheses=4: mWER goes on from a converged model" in str(error)


def test_a_run_that_is_trained_goes_on_by_minimum_word_error_training(refused, tmp_path, monkeypatch):
    (tmp_path / "run/checkpoints/step-00000001").mkdir(parents=True)
    monkeypatch.setattr("sonorant.cli.train._train", lambda *_: None)
    assert refused(mwer_hypotheses=4) is None


def test_an_aligner_that_is_not_there_is_said_before_any_process_starts(refused, tmp_path):
    error = refused(objective="frame_cross_entropy", aligner=str(tmp_path / "ctc"), alignment_weight=0)
    assert isinstance(error, BadExport)
    assert "/ctc/manifest.json: No such file or directory; expected an exported model" in str(error)


def test_what_is_not_given_is_not_in_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(dump_recipe(digits_recipe()))
    assert hint(["--recipe", "tiny.yaml"])[1] == ["prepare", "--recipe", "tiny.yaml", "--run", "runs/tiny"]


@pytest.mark.parametrize(
    ("rejected", "options", "code", "last"),
    [
        (0, [], 0, "training of"),
        (3, [], SOME_REJECTED, "3 of 400 examples, over all epochs, were rejected and not trained on; `sonorant audit"),
        (3, ["--lenient"], 0, "3 of 400 examples"),
    ],
)
def test_rejected_examples_show_in_the_exit_code_and_the_last_line(
    tmp_path, monkeypatch, rejected, options, code, last
):
    monkeypatch.setattr("sonorant.cli.train.check_prepared", lambda *_: None)
    recipe, run = tmp_path / "tiny.yaml", RunFolder(tmp_path / "run")
    recipe.write_text(dump_recipe(digits_recipe()))
    run.path.mkdir()
    ledger = {"committed": 400 - rejected, "rejected": rejected}
    totals = {"reason": "epochs", "steps": 7, "epochs": digits_recipe().training.epochs, "train_seconds": 9.0}
    run.totals.write_text(json.dumps(totals | {"ledger": ledger}))
    result = CliRunner().invoke(command, ["--recipe", str(recipe), "--run", str(run.path), *options])
    assert result.exit_code == code
    assert result.output.splitlines()[-1].startswith(last)


def test_a_complete_training_takes_over_settings_that_may_change(tmp_path, monkeypatch):
    monkeypatch.setattr("sonorant.cli.train.check_prepared", lambda *_: None)
    recipe, run = tmp_path / "tiny.yaml", RunFolder(tmp_path / "run")
    recipe.write_text(dump_recipe(digits_recipe()))
    run.path.mkdir()
    run.recipe.write_text(dump_recipe(digits_recipe()))
    run.totals.write_text(json.dumps({"epochs": digits_recipe().training.epochs, "train_seconds": 9.0}))
    arguments = ["--recipe", str(recipe), "--run", str(run.path)]
    beam = digits_recipe().decoding.beam
    result = CliRunner().invoke(command, [*arguments, "--set", f"decoding.beam={beam + 1}"])
    assert result.stderr == f"{run.recipe}: decoding.beam: {beam} then, {beam + 1} now\n"
    assert load_recipe(run.recipe).decoding.beam == beam + 1
    again = CliRunner().invoke(command, [*arguments, "--set", f"decoding.beam={beam + 1}"])
    assert (again.exit_code, again.stderr) == (0, "")


def test_a_complete_training_tells_of_steps_that_changed_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("sonorant.cli.train.check_prepared", lambda *_: None)
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.recipe.write_text(dump_recipe(digits_recipe()))
    totals = {"epochs": digits_recipe().training.epochs, "train_seconds": 9.0, "overflowed_steps": 2}
    arguments = ["--recipe", str(run.recipe), "--run", str(run.path)]
    for skipped, told in ((2, ""), (5, "3 of its steps were not finite, and changed no weights")):
        run.totals.write_text(json.dumps(totals | {"skipped_steps": skipped}))
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 0
        assert result.stderr.startswith(told)
        assert bool(result.stderr) is bool(told)


def test_weights_to_begin_with_are_told_to_have_no_effect_on_a_training_that_has_begun(tmp_path, monkeypatch):
    monkeypatch.setattr("sonorant.cli.train.check_prepared", lambda *_: None)
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.recipe.write_text(dump_recipe(digits_recipe()))
    run.totals.write_text(json.dumps({"epochs": digits_recipe().training.epochs, "train_seconds": 9.0}))
    arguments = ["--recipe", str(run.recipe), "--run", str(run.path), "--set"]
    without_effect = "training.init_from=runs/b: has no effect on a training that has begun; to begin with it"
    (run.checkpoints / "step-00000001").mkdir(parents=True)
    elsewhere = CliRunner().invoke(command, [*arguments, "training.init_from=runs/b"])
    assert without_effect not in elsewhere.stderr  # a store may have the journal
    for source in ("runs/b", "runs/a"):
        initial = {"kind": "initial", "time_s": 0, "step": 0, "source": source, "loaded": 1, "of": 1, "unmatched": []}
        with run.metrics.open("a") as journal:
            journal.write(json.dumps(initial) + "\n")
        told = CliRunner().invoke(command, [*arguments, "training.init_from=runs/b"])
        assert (without_effect in told.stderr) == (source == "runs/a")
    assert "has no effect" not in CliRunner().invoke(command, [*arguments, "training.init_from="]).stderr


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        (
            2,
            "its encoder has 2 of 3 layers: training.pretrain_layers add the others in later epochs; "
            "raise training.epochs",
        ),
        (3, ""),
        (None, ""),  # totals of before they had layers
    ],
)
def test_a_training_that_ends_before_all_layers_are_in_says_so(tmp_path, monkeypatch, layers, said):
    monkeypatch.setattr("sonorant.cli.train.check_prepared", lambda *_: None)
    values = digits_recipe().model_dump(mode="json")
    values["model"], values["training"]["pretrain_layers"] = {"family": "lstm_ctc", "layers": 3}, [2]
    recipe, run = Recipe.model_validate(values), RunFolder(tmp_path / "run")
    (tmp_path / "tiny.yaml").write_text(dump_recipe(recipe))
    run.path.mkdir()
    totals = {"reason": "epochs", "epochs": recipe.training.epochs, "train_seconds": 9.0, "layers": layers}
    run.totals.write_text(json.dumps(totals))
    result = CliRunner().invoke(command, ["--recipe", str(tmp_path / "tiny.yaml"), "--run", str(run.path)])
    assert result.exit_code == 0
    assert result.output.splitlines()[-1].startswith(said or "training of")


def test_checkpoints_that_cannot_be_gone_on_from_are_named(tmp_path, monkeypatch):
    def interrupted(_):
        raise Interrupted

    monkeypatch.setattr(LocalCluster, "run", interrupted)
    for check in ("check_prepared", "check_splits"):
        monkeypatch.setattr(f"sonorant.cli.train.{check}", lambda *_: None)
    (tmp_path / "tiny.yaml").write_text(dump_recipe(digits_recipe()))
    damaged = RunFolder(tmp_path / "run").checkpoints / "step-00000005"
    damaged.mkdir(parents=True)
    arguments = ["--recipe", str(tmp_path / "tiny.yaml"), "--run", str(tmp_path / "run")]
    result = CliRunner().invoke(command, arguments)
    first, second, last = result.output.splitlines()
    assert re.search("step-00000005: incomplete: .*; it is skipped", first)
    assert second.endswith("none of 1 checkpoints is complete; there is nothing to resume from")
    assert last.startswith("stopped")
