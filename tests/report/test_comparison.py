import json
import random

import pytest
from rigs.small_corpus import digits_recipe, write_digits

from sonorant.corpus.preparing import prepare
from sonorant.errors import BadRun
from sonorant.report.comparison import compare
from sonorant.run_folder import RunFolder

END = {"kind": "end", "reason": "epochs", "train_seconds": 2.0, "t_session": 0.5, "ledger": {}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    found = RunFolder(folder / "run"), RunFolder(folder / "other")
    data = write_digits(folder / "data")
    for run in found:
        prepare(digits_recipe(), data, run, progress=lambda *_: None)
        run.metrics.write_text(json.dumps(END) + "\n")
    return found


def evaluate(run, *heard, said="one two three four", split="test", name="heldout"):
    """Write the evaluation of a run that heard a text for each utterance."""
    outcomes = [
        {"utterance": f"u{i}", "reference": said, "hypothesis": text, "first_interim_ms": None, "final_ms": None}
        for i, text in enumerate(heard)
    ]
    document = {"model": "tiny/1", "subjects": {}, "streams": {name: 4}, "sets": {name: outcomes}}
    run.evaluation.write_text(json.dumps(document | {"definitions": {name: {"split": split}}}))
    return outcomes


def change(run, other):
    return compare(run, other, ["heldout"], "tones")["changes"].get("heldout")


def test_a_difference_is_of_utterances_not_of_rates(runs):
    run, other = runs
    evaluate(run, *["one two three four"] * 5, *["nine"] * 5)
    evaluate(other, *["one two three nine"] * 5, *[""] * 5)
    found = compare(run, other, ["heldout"], "tones")
    assert found["run"] == "other"
    assert found["wer"] == {"heldout": pytest.approx(0.625)}
    low, high = found["errors"]["heldout"]["interval_95"]
    assert high - low > 0.3
    of_words = found["changes"]["heldout"]
    assert of_words["wer"] == pytest.approx(-0.125)
    assert -0.25 <= of_words["wer_95"][0] < of_words["wer_95"][1] <= 0


def test_the_interval_is_that_of_the_mean_difference(runs):
    run, other = runs
    words = ["one", "two", "three", "four"]
    draw = random.Random(1)
    heard = [[" ".join(words[: draw.randint(0, 4)]) for _ in range(400)] for _ in range(2)]
    evaluate(run, *heard[0])
    evaluate(other, *heard[1])
    differences = [(len(b.split()) - len(a.split())) / 4 for a, b in zip(*heard, strict=True)]
    mean = sum(differences) / 400
    half = 1.96 * (sum((one - mean) ** 2 for one in differences) / 400) ** 0.5 / 20
    found = change(run, other)
    assert found["wer"] == pytest.approx(mean)
    assert found["wer_95"] == pytest.approx([mean - half, mean + half], abs=half / 5)


def test_the_order_of_the_utterances_does_not_count(runs):
    run, other = runs
    outcomes = evaluate(run, "one", "two", "three")
    evaluate(other, "one two three four", "nine", "")
    before = change(run, other)
    document = json.loads(run.evaluation.read_text()) | {"sets": {"heldout": outcomes[::-1]}}
    run.evaluation.write_text(json.dumps(document))
    assert change(run, other) == before
    assert before["wer_95"] is not None


@pytest.mark.parametrize("heard", [(["one"], ["one", "one"]), (["one", "one"], ["one"])])
def test_other_utterances_have_no_interval(runs, heard):
    run, other = runs
    evaluate(run, *heard[0])
    evaluate(other, *heard[1])
    assert change(run, other) == {"wer": 0, "wer_95": None, "cer": 0, "cer_95": None}


def test_other_words_of_an_utterance_of_one_name_have_no_interval(runs):
    run, other = runs
    evaluate(run, "one")
    evaluate(other, "one", said="one")
    assert change(run, other)["wer_95"] is None


def test_sets_that_one_run_alone_has_and_those_without_a_word_are_left_out(runs):
    run, other = runs
    evaluate(run, "one")
    evaluate(other, "one", name="lunch")
    assert compare(run, other, ["heldout"], "tones")["changes"] == {}
    for each in runs:
        evaluate(each, "one", said=" ")
    assert compare(run, other, ["heldout"], "tones")["changes"] == {}


def test_sets_of_one_name_that_were_measured_in_other_ways_are_not_compared(runs):
    run, other = runs
    evaluate(run, "one")
    evaluate(other, "one", split="dev")
    with pytest.raises(BadRun, match=r"heldout was measured as \{'split': 'dev'\}, and in .* as \{'split': 'test'\}"):
        compare(run, other, ["heldout"], "tones")
    assert compare(run, run, ["heldout"], "tones")["changes"]["heldout"]["wer_95"] == [0, 0]
