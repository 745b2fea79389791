import asyncio
import io
import json
import re
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner
from rich.console import Console
from rigs.babble import export_babble
from rigs.small_corpus import digits_recipe, write_digits

from services.evaluation.main import evaluate
from services.evaluation.streaming import stream_all
from services.evaluation.test_sets import Reference
from services.process.run_lock import locked_for_evaluation
from services.recognizer.process import running_recognizer
from sonorant.cli.evaluate import command
from sonorant.corpus.preparing import prepare
from sonorant.errors import Unavailable
from sonorant.recipe.training import EvaluationRecipe
from sonorant.recipe.training import TestSetRecipe as SetRecipe
from sonorant.run_folder import RunFolder
from sonorant.text.scoring import score
from sonorant.text.transcripts import pair_up, read_transcripts


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A run whose model babbles, measured on four recordings of dev by two clients."""
    folder = tmp_path_factory.mktemp("streaming")
    run = RunFolder(folder / "run")
    measured = EvaluationRecipe.model_validate({"streams": 2, "sets": [{"name": "small", "split": "dev"}]})
    recipe = digits_recipe().model_copy(update={"evaluation": measured})
    prepare(recipe, write_digits(folder / "data"), run, progress=lambda *_: None)
    export_babble(run.exports)
    evaluate(recipe, run, folder / "data", Console(quiet=True))
    return recipe, run, folder / "data"


def with_set(recipe, name):
    sets = (*recipe.evaluation.sets, SetRecipe(name=name, split="test"))
    evaluation = recipe.evaluation.model_copy(update={"sets": sets})
    return recipe.model_copy(update={"evaluation": evaluation})


def test_every_recording_has_an_outcome_with_latencies(evaluated):
    _, run, _ = evaluated
    document = json.loads(run.evaluation.read_text())
    assert document["model"] == "babble/1"
    assert document["streams"] == {"small": 2}
    outcomes = document["sets"]["small"]
    assert [
        set(o["reference"].split()) <= {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
        for o in outcomes
    ] == [True] * 4
    assert all(o["final_ms"] > 0 for o in outcomes)
    assert {o["speaker"] for o in outcomes} <= {"ann", "bob", "cid"}
    assert all(o["audio_s"] > 0.5 for o in outcomes)


def test_the_same_model_is_not_measured_twice(evaluated):
    recipe, run, data = evaluated
    before = run.evaluation.stat()
    evaluate(recipe, run, data, Console(quiet=True))
    assert run.evaluation.stat() == before


def test_a_run_is_measured_by_one_evaluation_at_a_time(evaluated, tmp_path):
    recipe, run, data = evaluated
    copy = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    with locked_for_evaluation(copy.path):
        evaluate(recipe, copy, data, Console(quiet=True))  # has nothing to do, and writes nothing
        with pytest.raises(Unavailable, match="evaluates this run already") as refused:
            evaluate(with_set(recipe, "other"), copy, data, Console(quiet=True))
    assert (refused.value.exit_code, copy.evaluation.read_bytes()) == (69, run.evaluation.read_bytes())


def test_a_damaged_version_is_told_and_measured_once_it_is_whole(evaluated, tmp_path):
    recipe, run, data = evaluated
    copy = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    export_babble(copy.exports, seed=7)
    units = copy.exports / "babble" / "2" / "units.json"
    for whole, model in ((False, "babble/1"), (True, "babble/2"), (True, "babble/2")):
        if not whole:
            units.rename(tmp_path / "units.json")
        elif not units.exists():
            (tmp_path / "units.json").rename(units)
        said = Console(file=io.StringIO(), width=200)
        evaluate(recipe, copy, data, said)
        document = json.loads(copy.evaluation.read_text())
        assert (document["model"], document["models"]) == (model, {"small": model})
        assert ("babble/2 is newer: " in said.file.getvalue()) == (not whole)
    assert "nothing to do" in said.file.getvalue()
    (copy.exports / "babble" / "labels.json").write_text('{"stable": 1}')
    evaluate(recipe, copy, data, Console(quiet=True))
    assert json.loads(copy.evaluation.read_text())["models"] == {"small": "babble/1"}


@pytest.mark.parametrize("content", ["{", "[]", '{"fingerprint": 1}', "\xff"])
def test_a_damaged_evaluation_is_made_again(evaluated, tmp_path, content):
    recipe, run, data = evaluated
    copy = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    copy.evaluation.write_text(content, encoding="latin-1")
    evaluate(recipe, copy, data, Console(quiet=True))
    document = json.loads(copy.evaluation.read_text())
    assert len(document["sets"]["small"]) == 4
    assert document["definitions"]["small"]["split"] == "dev"


def test_another_set_comes_beside_the_measured_ones_unpaced_and_without_latencies(evaluated, tmp_path, monkeypatch):
    _, run, _ = evaluated
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SONORANT_DATA", raising=False)
    measured = json.loads(run.evaluation.read_text())["sets"]["small"]
    chosen = "evaluation.sets=[{name: more, split: test}]"
    arguments = ["--run", str(run.path), "--set", "evaluation.paced=false", "--set", chosen]
    monkeypatch.setattr("sonorant.export.run_model.best_is_newer", lambda _: True)
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert f"is not measured; `sonorant export --run {run.path}` exports it\n" in done.stderr
    report = f"`sonorant report --run {run.path}` has the error rates"
    assert done.stdout == f"more: 6 recordings by babble/1; {report}\n"
    document = json.loads(run.evaluation.read_text())
    assert document["sets"]["small"] == measured
    assert len(document["sets"]["more"]) == 6
    assert {o["final_ms"] for o in document["sets"]["more"]} == {None}
    assert {o["first_interim_ms"] for o in document["sets"]["more"]} == {None}


def test_a_set_that_replaces_another_of_its_name_is_told(evaluated, tmp_path):
    recipe, run, data = evaluated
    copy = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    other = EvaluationRecipe.model_validate({"paced": False, "sets": [{"name": "small", "split": "test"}]})
    said = Console(file=io.StringIO(), width=200)
    evaluate(recipe.model_copy(update={"evaluation": other}), copy, data, said)
    replaced = "small: replaces the set of this name that was measured with another split; under another name both stay"
    assert said.file.getvalue().startswith(replaced)
    assert len(json.loads(copy.evaluation.read_text())["sets"]["small"]) == 6


def test_an_evaluation_that_was_cut_off_goes_on_with_the_next_set(evaluated):
    recipe, run, data = evaluated
    whole = run.evaluation.read_text()
    document = json.loads(whole)
    document["sets"]["small"] = measured = [{"utterance": "measured before"}]
    run.evaluation.write_text(json.dumps(document))
    evaluate(with_set(recipe, "late"), run, data, Console(quiet=True))
    after = json.loads(run.evaluation.read_text())
    run.evaluation.write_text(whole)
    assert after["sets"]["small"] == measured
    assert len(after["sets"]["late"]) == 6


def test_a_wait_for_capacity_is_said_where_it_begins_and_in_the_progress(evaluated, tmp_path):
    recipe, run, data = evaluated
    shutil.copytree(run.shards, (full := RunFolder(tmp_path)).shards)
    export_babble(full.exports, max_streams=1)
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    evaluate(recipe, full, data, terminal)
    shown, reason = terminal.file.getvalue(), "1 streams, no more than 1 at once"
    assert f"the recognizer has no capacity: {reason}" in shown
    assert re.search(rf"waiting \d+ s for capacity, streams: 1: {reason}", shown)
    assert len(json.loads(full.evaluation.read_text())["sets"]["small"]) == 4


def test_what_is_measured_is_the_model_s_all_but_the_evaluation(evaluated):
    _, run, data = evaluated
    done = CliRunner().invoke(command, ["--run", str(run.path), "--data", str(data), "--set", "decoding.beam=1"])
    assert done.exit_code == 2
    assert "expected evaluation.KEY=VALUE" in done.output


def test_transcribed_again_by_another_process_the_recordings_give_the_same_error_rate(evaluated):
    _, run, _ = evaluated
    outcomes = json.loads(run.evaluation.read_text())["sets"]["small"]
    folder = run.recordings / "small"
    done = subprocess.run(
        [sys.executable, "-m", "sonorant.cli", "transcribe", "--run", run.path, "--json", *folder.glob("*.wav")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    heard = run.path / "heard.jsonl"
    heard.write_text(done.stdout)
    pairs = pair_up(read_transcripts(folder / "manifest.jsonl"), read_transcripts(heard))
    assert pairs == {o["utterance"]: (o["reference"], o["hypothesis"]) for o in outcomes}
    assert any(hypothesis for _, hypothesis in pairs.values())
    said = subprocess.run(
        [sys.executable, "-m", "sonorant.cli", "score", "--json", folder / "manifest.jsonl", heard],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(said.stdout)["rate"] == score([(o["reference"], o["hypothesis"]) for o in outcomes]).rate


def test_a_recognizer_that_is_not_there_is_unavailable(tmp_path):
    reference = Reference("u", tmp_path / "u.wav", "one", 1.0, ())
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        asyncio.run(stream_all("127.0.0.1:1", [reference], 1, lambda: None))


def probe(run, server, *options):
    command = [sys.executable, "-m", "services.evaluation", "--run", str(run.path), "--server", server, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_probe_passes_a_recognizer_that_answers_and_fails_one_that_errs_or_is_away(evaluated):
    _, run, _ = evaluated
    with running_recognizer(run.exports) as server:
        answered = probe(run, server, "--utterances", "2")
        assert (answered.returncode, answered.stderr) == (0, "")
        assert answered.stdout.count("babble/1") == 2
        erred = probe(run, server, "--utterances", "1", "--max-wer", "0")
        assert erred.returncode == 65
        assert "the limit is 0.0%" in erred.stderr
    away = probe(run, server, "--utterances", "1")
    assert away.returncode == 69
    assert server in away.stderr


def test_the_probe_fails_a_recognizer_that_recognizes_nothing_unless_all_errors_may_be(evaluated, tmp_path):
    _, run, _ = evaluated
    export_babble(tmp_path, blank=1000)
    with running_recognizer(tmp_path) as server:
        deaf = probe(run, server, "--utterances", "2")
        allowed = probe(run, server, "--utterances", "2", "--max-wer", "1")
    assert "recognized ''" in deaf.stdout
    assert deaf.returncode == 65
    assert "no word was recognized in any of 2 recordings" in deaf.stderr
    assert allowed.returncode == 0
