import json
import shutil
from pathlib import Path

from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, write_digits
from rigs.tiny_lm import text_recipe
from rigs.tracked_run import tracked, tracked_recipe

from sonorant.cli.report import command
from sonorant.corpus.preparing import prepare
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.training import EvaluationRecipe
from sonorant.run_folder import RunFolder

END = {
    "kind": "end",
    "time_s": 2.0,
    "step": 9,
    "steps": 9,
    "reason": "epochs",
    "train_seconds": 2.0,
    "t_session": 0.5,
    "ledger": {},
}
HEARD = {
    "utterance": "u",
    "reference": "one two three four",
    "hypothesis": "one two four four",
    "first_interim_ms": 9,
    "final_ms": 20,
}
OWN, OTHER = {"name": "heldout", "split": "test"}, {"name": "lunch", "split": "dev"}
RIGHT = HEARD | {"hypothesis": HEARD["reference"]}


def reported_run(tmp_path, recipe):
    run = RunFolder(tmp_path / "run")
    prepare(recipe, write_digits(tmp_path / "data"), run, progress=lambda *_: None)
    run.metrics.write_text(json.dumps(END) + "\n")
    write_heard(run, HEARD)
    return run


def write_heard(run, *outcomes):
    document = {"model": "tiny/1", "subjects": {}, "streams": {"heldout": 4}, "sets": {"heldout": outcomes}}
    run.evaluation.write_text(json.dumps(document))


def invoke(run, *assignments):
    sets = [word for one in assignments for word in ("--set", one)]
    return CliRunner().invoke(command, ["--run", str(run.path), "--data", str(run.path.parent / "data"), *sets])


def report(run, *assignments):
    done = invoke(run, *assignments)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_error_rates_are_told_with_their_intervals(tmp_path):
    told = report(reported_run(tmp_path, digits_recipe()))
    assert "heldout: word error rate 25.00% (95 % interval 25.00% to 25.00%) of 4 words by tiny/1\n" in told


def test_the_distance_from_another_run_is_told_with_its_interval(tmp_path):
    run = reported_run(tmp_path, digits_recipe())
    other = RunFolder(shutil.copytree(run.path, tmp_path / "other"))
    write_heard(other, RIGHT)
    arguments = ["--run", str(run.path), "--compare", str(other.path)]
    words = "heldout beside other: word error rate +25.00 points"
    for _ in range(2):  # the second time there is nothing to do
        told = CliRunner().invoke(command, arguments).stdout
        assert f"{words} (95 % interval +25.00 to +25.00), character error rate +" in told
    write_heard(other, RIGHT | {"utterance": "another"})
    assert f"{words} (no interval: of other utterances), " in CliRunner().invoke(command, arguments).stdout
    assert "beside" not in report(run)


def test_a_set_without_a_word_has_no_error_rate_and_is_not_compared(tmp_path):
    run = reported_run(tmp_path, digits_recipe())
    other = RunFolder(shutil.copytree(run.path, tmp_path / "other"))
    write_heard(other, RIGHT | {"reference": " "})
    assert "heldout: no word in the references of 1 utterances; 4 words were heard\n" in report(other)
    done = CliRunner().invoke(command, ["--run", str(run.path), "--compare", str(other.path)])
    assert "heldout: not compared, as other has no such set, or no word is in it\n" in done.stderr
    errors = json.loads(other.summary.read_text())["errors"]["heldout"]
    assert [errors[key] for key in ("interval_95", "cer", "cer_interval_95", "insertions")] == [None, None, None, 4]
    assert "<td>heldout<td>–<td>–<td>0\n<td>0<td>4<td>0<td>–<td>–<td>100.00 %" in other.report.read_text()


def test_a_version_that_was_exported_since_and_not_measured_is_told(tmp_path):
    run = reported_run(tmp_path, digits_recipe())
    for version, told in (("0", False), ("1", False), ("2", True)):
        (run.exports / "tiny" / version).mkdir(parents=True)
        said = invoke(run)
        line = f"tiny/2 is newer than tiny/1 and not measured; `sonorant evaluate --run {run.path}` measures it\n"
        assert (line in said.stderr) == told
        assert ") of 4 words by tiny/1\n" in said.stdout


def test_a_best_checkpoint_that_was_not_exported_is_told(tmp_path, monkeypatch):
    run = reported_run(tmp_path, digits_recipe())
    told = f"is not measured; `sonorant export --run {run.path}` exports it\n"
    assert told not in invoke(run).stderr
    monkeypatch.setattr("sonorant.export.run_model.best_is_newer", lambda _: True)
    assert told in invoke(run).stderr


def test_a_set_of_the_recipe_that_is_not_measured_is_told_unless_others_are_chosen(tmp_path):
    recipe = digits_recipe()
    recipe = recipe.model_copy(update={"evaluation": EvaluationRecipe.model_validate({"sets": [OWN, OTHER]})})
    run = reported_run(tmp_path, recipe)
    told = "lunch, a set of the recipe, is not measured with this model; `sonorant evaluate --run "
    assert told in report(run)
    assert "is not measured" not in report(run, "evaluation.sets=[{name: heldout, split: test}]")


def test_the_corpora_are_not_needed(tmp_path, monkeypatch):
    run = reported_run(tmp_path, digits_recipe())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SONORANT_DATA", raising=False)
    assert CliRunner().invoke(command, ["--run", str(run.path)]).exit_code == 0
    assert "Recordings: digits (layout: fsdd)" in run.report.read_text()


def test_a_set_that_was_measured_as_another_is_refused_if_chosen_and_told_if_not(tmp_path):
    run = reported_run(tmp_path, digits_recipe())
    document = json.loads(run.evaluation.read_text())
    measured = {"name": "heldout", "split": "dev", "run": None, "room": None, "seed": 0, "gain_db": 0.0}
    run.evaluation.write_text(json.dumps(document | {"definitions": {"heldout": measured}}))
    assert "heldout was measured as {'name': 'heldout', 'split': 'dev'" in report(run)
    done = invoke(run, "evaluation.sets=[{name: heldout, split: test}]")
    assert done.exception.exit_code == 65
    assert "test set heldout was measured as" in str(done.exception)
    assert "was measured as" not in report(run, "evaluation.sets=[{name: heldout, split: dev}]")


def test_damaged_files_are_named_or_made_again(tmp_path):
    run = reported_run(tmp_path, digits_recipe())
    run.metrics.write_text("5\n[]\n{\n" + run.metrics.read_text())
    for content in ("{", "[]"):
        report(run)
        run.summary.write_text(content)
        assert "nothing to do" not in report(run)
    for path in (run.evaluation, run.shards / "card.json"):
        whole = path.read_text()
        path.write_text(whole[:30])
        done = invoke(run)
        assert done.exception.exit_code == 65
        assert f"{path}: damaged: " in str(done.exception)
        path.write_text(whole)


def test_a_tracker_gets_the_report_and_its_error_rates_once_each(tmp_path):
    run = reported_run(tmp_path, tracked_recipe(tmp_path / "mlflow"))
    for _ in range(2):
        assert f"{tmp_path / 'mlflow'}: tracked as run" in report(run)
    write_heard(run, HEARD, RIGHT)
    report(run)
    ((found, points),) = tracked(tmp_path / "mlflow")
    assert points["test/heldout/wer"] == [(9, 0.25), (9, 0.125)]
    artifacts = Path(found.info.artifact_uri.removeprefix("file://"))
    assert sorted(path.name for path in artifacts.iterdir()) == ["recipe.yaml", "report.html", "report.json"]
    assert (artifacts / "report.html").read_bytes() == run.report.read_bytes()


def test_of_a_set_without_a_word_no_rate_is_tracked(tmp_path):
    run = reported_run(tmp_path, tracked_recipe(tmp_path / "mlflow"))
    write_heard(run, RIGHT | {"reference": ""})
    assert "tracked as run" in report(run)
    ((_, points),) = tracked(tmp_path / "mlflow")
    assert not [name for name in points if name.startswith("test/")]


def test_set_chooses_the_test_sets_and_without_it_all_are_reported(tmp_path):
    run = reported_run(tmp_path, digits_recipe())
    measured = json.loads(run.evaluation.read_text())
    measured["sets"]["mixed"] = [RIGHT]
    measured["streams"]["mixed"] = 4
    run.evaluation.write_text(json.dumps(measured))
    for assignments, expected in (
        (("evaluation.sets=[{name: mixed, split: test}]",), {"mixed": 0}),
        ((), {"heldout": 0.25, "mixed": 0}),
    ):
        report(run, *assignments)
        assert json.loads(run.summary.read_text())["wer"] == expected
        assert ("heldout" in run.report.read_text()) == ("heldout" in expected)


def test_a_set_that_was_not_measured_is_named(tmp_path):
    failed = invoke(reported_run(tmp_path, digits_recipe()), "evaluation.sets=[{name: mixed, split: test}]").exception
    assert "has no test set mixed; there are heldout: run `sonorant evaluate" in str(failed)


def test_set_sends_a_run_to_a_tracker_that_its_recipe_does_not_name(tmp_path):
    run = reported_run(tmp_path, digits_recipe())
    assert f"{tmp_path / 'mlflow'}: tracked as run" in report(run, f"tracking.mlflow={tmp_path / 'mlflow'}")


def test_the_run_of_a_language_model_has_no_report(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.recipe.write_text(dump_recipe(text_recipe()))
    told = "a language model is trained on text, so there is nothing to report; its perplexity on dev is in the run's"
    assert told in str(invoke(run).exception)


def test_set_takes_no_other_key(tmp_path):
    refused = invoke(reported_run(tmp_path, digits_recipe()), "training.epochs=3")
    assert refused.exit_code == 2
    assert "--set training.epochs=3: expected evaluation.sets or tracking.KEY=VALUE" in refused.output


def test_a_tracker_that_is_gone_is_told_and_the_report_is_made(tmp_path):
    run = reported_run(tmp_path, tracked_recipe(tmp_path / "mlflow"))
    (tmp_path / "mlflow").write_text("no folder")
    assert f"{tmp_path / 'mlflow'}: not tracked (" in report(run)
    assert run.report.exists()
