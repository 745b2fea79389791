"""Tuning of a tiny export whose dev set has the transcripts that known weights give."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from rigs.tunable_run import TRUE

from sonorant.export.loading import load_exported
from sonorant.serving.session import Session, SessionOptions
from sonorant.tuning import BadTuning, Range, TrialLog, TrialRunner, read_outputs, tune

RANGES = {"lm.alpha": Range(0, 3), "lm.beta": Range(-2, 4)}
START = {"lm.alpha": 0.0, "lm.beta": 0.0}
TRIALS = 40


class Backwards:
    """Workers whose results come last first; after `fail_after` they are interrupted."""

    def __init__(self, fail_after=None):
        self.fail_after = fail_after
        self.run = []

    def __call__(self, function, tasks):
        for task in reversed(list(tasks)):
            if len(self.run) == self.fail_after:
                raise KeyboardInterrupt
            self.run.append(task)
            yield function(task)


def tuned(subject, path, workers=map, seed=0, start=START, ranges=RANGES, trials=TRIALS):
    log = TrialLog(path, subject.fingerprint)
    return tune(TrialRunner(subject, workers), log, ranges, start, trials, seed)


@pytest.fixture(scope="module")
def whole(tunable, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "tuning.json"
    return tuned(tunable[2], path), json.loads(path.read_text())


def test_the_weights_that_transcribed_dev_are_found_again(tunable, whole):
    result, document = whole
    assert result.before.errors > 10
    assert result.after.errors == 0
    assert abs(result.best["lm.alpha"] - TRUE["lm.alpha"]) < 0.7
    assert result.gain_95[0] > 0
    runner = TrialRunner(tunable[2], map)
    assert runner.rate(TRUE).errors == 0
    assert len(document["trials"]) == TRIALS
    for trial in document["trials"][::8]:
        assert runner.rate(trial["weights"]).errors == trial["errors"]


def test_a_trial_counts_the_errors_of_the_recognizers_sessions(tunable):
    _, spoken, subject = tunable
    model = load_exported(subject.export)
    texts = []
    for waveform, _ in spoken:
        session = Session(model, SessionOptions())
        session.push((waveform * 32768).astype("<i2").tobytes())
        texts.append(session.finish()[-1].alternatives[0].text)
    wrong = [text != reference for text, (_, reference) in zip(texts, spoken, strict=True)]
    rate = TrialRunner(subject, map).rate(START)
    assert [errors > 0 for errors, _ in rate.per_utterance] == wrong
    outputs = read_outputs(subject.outputs)
    assert sum(len(outputs.frames(i)) for i in range(len(spoken))) == len(outputs.all_frames)
    assert np.isfinite(outputs.frames(3)).all()


def test_neither_the_order_of_results_nor_an_interruption_changes_anything(tunable, whole, tmp_path):
    path = tmp_path / "tuning.json"
    first = Backwards(fail_after=25)
    with pytest.raises(KeyboardInterrupt):
        tuned(tunable[2], path, first)
    assert len(json.loads(path.read_text())["trials"]) == 25
    second = Backwards()
    assert tuned(tunable[2], path, second) == whole[0]
    assert len(first.run) + len(second.run) == TRIALS == len({*first.run, *second.run})
    third = Backwards()
    assert tuned(tunable[2], path, third) == whole[0]
    assert third.run == []


def test_a_better_trial_of_an_earlier_tuning_is_kept_if_the_ranges_have_it(tunable, whole, tmp_path):
    path = tmp_path / "tuning.json"
    assert tuned(tunable[2], path) == whole[0]
    workers = Backwards()
    assert tuned(tunable[2], path, workers, trials=1) == whole[0]
    assert workers.run == []
    elsewhere = {"lm.alpha": Range(0, 0.1), "lm.beta": Range(-2, 4)}
    again = tuned(tunable[2], path, ranges=elsewhere, trials=1)
    inside = [t for t in json.loads(path.read_text())["trials"] if t["weights"]["lm.alpha"] <= 0.1]
    assert again.after.errors == min(trial["errors"] for trial in inside) > 0
    start = {**START, "lm.beta": 1.5}
    alone = tuned(tunable[2], path, start=start, ranges={"lm.alpha": Range(0, 3)}, trials=1)
    assert alone.best == start  # the log's trials have another beta


KILLED = """
import os, signal, sys
from pathlib import Path
from sonorant.tuning import Range, Subject, TrialLog, TrialRunner, tune

class Killed(TrialLog):
    def add(self, weights, errors):
        super().add(weights, errors)
        if len(self) == 7:
            os.kill(os.getpid(), signal.SIGKILL)

export, outputs, recipe, path = sys.argv[1:]
subject = Subject(Path(export), Path(outputs), recipe)
ranges = {"lm.alpha": Range(0, 3), "lm.beta": Range(-2, 4)}
log = Killed(Path(path), subject.fingerprint)
tune(TrialRunner(subject, map), log, ranges, {"lm.alpha": 0.0, "lm.beta": 0.0}, 40, 0)
"""


def test_a_tuning_that_was_killed_goes_on(tunable, whole, tmp_path):
    subject, path = tunable[2], tmp_path / "tuning.json"
    arguments = [str(subject.export), str(subject.outputs), subject.recipe, str(path)]
    assert subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False).returncode == -9
    assert json.loads(path.read_text())["trials"] == whole[1]["trials"][:7]
    workers = Backwards()
    assert tuned(subject, path, workers) == whole[0]
    assert len(workers.run) == TRIALS - 7


def test_a_tuning_by_characters_counts_their_errors_in_trials_of_its_own(tunable, whole):
    _, spoken, words = tunable
    characters = replace(words, unit="character")
    rate = TrialRunner(characters, map).rate(START)
    texts = [text for _, text in spoken]
    assert rate.reference_words == sum(len(text) for text in texts) > rate.errors > whole[0].before.errors
    [(_, errors)] = TrialRunner(characters, map).errors([START])
    assert errors == rate.errors
    assert characters.fingerprint != words.fingerprint


def test_a_weight_that_is_not_varied_stays(tunable, tmp_path):
    start = {"lm.alpha": 0.0, "lm.beta": 2.0}
    result = tuned(tunable[2], tmp_path / "tuning.json", start=start, ranges={"lm.alpha": Range(0, 3)})
    assert result.best["lm.beta"] == 2.0
    assert result.after.errors < 0.2 * result.before.errors


def test_trials_of_another_subject_are_dropped(tmp_path):
    path = tmp_path / "tuning.json"
    TrialLog(path, "one").add({"a": 1.0, "b": 2.0}, 3)
    assert TrialLog(path, "one").errors({"b": 2.0, "a": 1.0}) == 3
    assert TrialLog(path, "two").errors({"a": 1.0, "b": 2.0}) is None


@pytest.mark.parametrize("text", ["", "[]", '{"subject": "one"}', '{"subject": "one", "trials": [{"errors": 3}]}'])
def test_a_file_that_has_no_trials_is_refused(tmp_path, text):
    path = tmp_path / "tuning.json"
    path.write_text(text)
    with pytest.raises(BadTuning, match=r"tuning\.json: no record of trials"):
        TrialLog(path, "one")


def test_a_folder_in_the_place_of_the_trials_is_refused(tmp_path):
    (tmp_path / "tuning.json").mkdir()
    with pytest.raises(BadTuning, match=r"tuning\.json: no record of trials"):
        TrialLog(tmp_path / "tuning.json", "one")
