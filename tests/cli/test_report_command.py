import json
from pathlib import Path

from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, write_digits
from rigs.tracked_run import tracked, tracked_recipe

from sonorant.cli.report import command
from sonorant.corpus.preparing import prepare
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
HEARD = {"reference": "one two three four", "hypothesis": "one two four four", "first_interim_ms": 9, "final_ms": 20}
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


def report(run):
    done = CliRunner().invoke(command, ["--run", str(run.path), "--data", str(run.path.parent / "data")])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_error_rates_are_told_with_their_intervals(tmp_path):
    told = report(reported_run(tmp_path, digits_recipe()))
    assert "heldout: word error rate 25.00% (95 % interval 25.00% to 25.00%) of 4 words\n" in told


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


def test_a_tracker_that_is_gone_is_told_and_the_report_is_made(tmp_path):
    run = reported_run(tmp_path, tracked_recipe(tmp_path / "mlflow"))
    (tmp_path / "mlflow").write_text("no folder")
    assert f"{tmp_path / 'mlflow'}: not tracked (" in report(run)
    assert run.report.exists()
