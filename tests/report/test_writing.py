import json
import shutil

import pytest
from rigs.small_corpus import digits_recipe, write_digits

from sonorant.corpus.preparing import prepare
from sonorant.errors import BadRun
from sonorant.export.manifest import MANIFEST, Manifest
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.report.writing import write_report
from sonorant.run_folder import RunFolder

LEDGER = {"committed": 20, "rejected": 0, "lost": 0, "duplicated": 0}
TOTALS = {
    "steps": 7,
    "epochs": 3,
    "audio_hours": 0.5,
    "audio_hours_per_second": 0.25,
    "parameters": 99,
    "best_wer": 0.5,
}
METRICS = (
    {"kind": "step", "time_s": 1.0, "loss": 9.0, "t_session": 0.5},
    {"kind": "stages", "time_s": 1.0, "utilisation": {"featurizer": 0.25}},
    {"kind": "dev", "time_s": 2.0, "wer": 0.5},
    {"kind": "end", "time_s": 2.0, "reason": "epochs", "train_seconds": 2.0, "t_session": 0.5, "ledger": LEDGER}
    | TOTALS,
)


def outcome(said, heard, utterance="u"):
    return {"utterance": utterance, "reference": said, "hypothesis": heard, "first_interim_ms": None, "final_ms": 20.0}


def evaluate(run, *outcomes):
    document = {"model": "tiny/1", "subjects": {}, "streams": {"heldout": 4}, "sets": {"heldout": outcomes}}
    run.evaluation.write_text(json.dumps(document))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    run = RunFolder(folder / "run")
    prepare(digits_recipe(), write_digits(folder / "data"), run, progress=lambda *_: None)
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in METRICS))
    return run


@pytest.fixture
def run(prepared):
    evaluate(prepared, outcome("one two three four", "one two four four"))
    prepared.report.unlink(missing_ok=True)
    return prepared


def write(run, compared=None):
    return write_report(run, run.path, "tones", compared)


def test_the_page_shows_what_the_figures_say(run):
    assert write(run)
    figures, page = json.loads(run.summary.read_text()), run.report.read_text()
    assert figures["wer"] == {"heldout": 0.25}
    assert "<td>heldout<td>25.00 %" in page
    assert "Recordings: tones. Model: tiny/1." in page
    assert page.count("<svg") == 4


def test_the_page_shows_another_run_beside_it(run, tmp_path):
    other = RunFolder(shutil.copytree(run.path, tmp_path / "other"))
    evaluate(other, outcome("one two three four", "one two three four"))
    assert write(run, other)
    page = run.report.read_text()
    assert "<h2>Beside other</h2>" in page
    assert "<tr><td>heldout<td>0.00 %<td>–\n<td>+25.0 to +25.0 points<td>0.00 %" in page
    evaluate(other, outcome("one two three four", "one two three four", utterance="another"))
    assert write(run, other)
    assert "<tr><td>heldout<td>0.00 %<td>–\n<td>–<td>0.00 %<td>–</tr>" in run.report.read_text()


def test_sets_that_were_not_streamed_in_real_time_have_no_latency(run):
    evaluate(run, outcome("one two", "one two") | {"final_ms": None})
    write(run)
    assert json.loads(run.summary.read_text())["streaming"]["final_p95_ms"] is None
    assert "<h2>Latency" not in run.report.read_text()


def test_an_evaluation_of_an_earlier_version_is_asked_for_again(run):
    run.evaluation.write_text(json.dumps({"subject": "s", "model": "tiny/1", "streams": 4, "sets": {}}))
    with pytest.raises(BadRun, match="sonorant evaluate --run"):
        write(run)


def test_a_report_is_made_once_for_what_it_is_made_of(run):
    assert write(run)
    assert not write(run)
    assert write(run, compared=run)
    evaluate(run, outcome("one two three four", "one two three four"))
    assert write(run, compared=run)
    run.report.unlink()
    assert write(run, compared=run)
    assert not write(run, compared=run)


def test_a_run_that_was_not_evaluated_is_told_how(run):
    assert write(run)
    run.evaluation.unlink()
    with pytest.raises(BadRun, match=rf"evaluation\.json: not there; run `sonorant evaluate --run {run.path}` first"):
        write(run)


@pytest.mark.parametrize(
    ("metrics", "reached"),
    [('{"kind": "step", "epoch": 9, "step": 700}\n{"kind": "st', "epoch 10 of 20"), (None, "no step is made")],
)
def test_an_interrupted_training_is_told_how_far_it_came_and_how_it_goes_on(tmp_path, metrics, reached):
    run = RunFolder(tmp_path)
    training = digits_recipe().training.model_copy(update={"epochs": 20})
    run.recipe.write_text(dump_recipe(digits_recipe().model_copy(update={"training": training})))
    if metrics is not None:
        run.metrics.write_text(metrics)
    with pytest.raises(BadRun) as failure:
        write(run)
    assert str(failure.value) == (
        f"{run.metrics}: training is not complete ({reached}); "
        f"`sonorant train --recipe {run.recipe} --run {run.path}` goes on"
    )
    assert failure.value.exit_code == 65


def test_a_report_says_what_was_trained_and_how_fast(run):
    write(run)
    figures = json.loads(run.summary.read_text())
    assert {key: figures[key] for key in TOTALS} == TOTALS
    assert figures["system"] == {
        "name": "tiny",
        "family": "lstm_ctc",
        "objective": "ctc",
        "seed": 0,
        "streaming": None,  # its export is gone
        "stages": [],
        "lm": False,
        "mwer": False,
    }


@pytest.mark.parametrize(
    ("where", "signature", "streaming"),
    [(".", "stream", True), (".", "whole", False), ("members/0", "stream", True), ("members/0", "whole", False)],
)
def test_a_report_says_what_was_measured_of_an_export_or_an_ensemble(run, where, signature, streaming):
    folder = run.exports / "tiny/1"
    (folder / where).mkdir(parents=True)
    values = digits_recipe().model_dump(mode="json") | {"decoding": {"lm": {"path": "lm.arpa"}}}
    (folder / "recipe.yaml").write_text(dump_recipe(Recipe.model_validate(values)))
    for path, kind in ((folder, "ensemble"), (folder / where, signature)):
        manifest = Manifest("tiny", 1, 8000, 40, 0.04, (), "", {}, "ctc", kind)
        (path / MANIFEST).write_text(manifest.to_json())
    run.report.unlink(missing_ok=True)
    write(run)
    system = json.loads(run.summary.read_text())["system"]
    assert (system["streaming"], system["lm"]) == (streaming, True)
    shutil.rmtree(folder)
