"""The report of a run: its figures and its page, from what the other commands left in the run folder."""

import json
import re
from pathlib import Path

import pytest
from rigs.small_corpus import digits_recipe, write_digits

from sonorant.corpus.preparing import prepare
from sonorant.errors import BadRun
from sonorant.recipe import Recipe
from sonorant.recipe.loading import load_recipe
from sonorant.report.writing import write_report
from sonorant.run_folder import RunFolder
from sonorant.training.metrics import MetricsLog

RECIPES = Path(__file__).parents[2] / "recipes"
STAGES = [{"stage": "vtlp"}, {"stage": "room", "t60_s": {"low": 0.1, "high": 0.2}, "noise": {"kinds": ["white"]}}]
LEDGER = {"committed": 40, "rejected": 1, "lost": 0, "duplicated": 0}


def _outcome(reference, hypothesis, first_interim_ms, final_ms):
    return {"utterance": "u", "reference": reference, "hypothesis": hypothesis, "audio_s": 1.0, "words": []} | {
        "first_interim_ms": first_interim_ms, "final_ms": final_ms,
    }  # fmt: skip


def _ratios(step):
    return {"t_session": 0.9, "padding_ratio": step / 100}


def _metrics(run):
    log = MetricsLog(run.metrics, 0.0)
    unmatched = ["lstm_0/bias: [2] in the source, [4] here", "old/bias: [3] in the source, none here"]
    log.write("initial", {"time_s": 0.0, "step": 0, "source": "base", "loaded": 3, "of": 4, "unmatched": unmatched})
    for step in range(1, 21):
        log.write("step", {"time_s": 3.0 * step, "step": step, "loss": 9.0 / step, **_ratios(step)})
    log.write("stages", {"time_s": 30.0, "utilisation": {"room": 0.8, "vtlp": 0.5}, "rate": {}, "bottleneck": "room"})
    log.write("dev", {"time_s": 60.0, "step": 20, "wer": 0.25})
    log.write("alignment", {"time_s": 60.0, "step": 20, "labels": ["nine", "</s>"], "percent": [[10, 90], [100, 0]]})
    log.write("end", {"time_s": 60.0, "train_seconds": 60.0, "t_session": 0.93, "reason": "epochs", "ledger": LEDGER})
    log.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A prepared run with the metrics of a training and the outcomes of an evaluation; its data folder."""
    folder = tmp_path_factory.mktemp("report")
    run = RunFolder(folder / "run")
    data = write_digits(folder / "data")
    recipe = Recipe.model_validate(digits_recipe().model_dump(mode="json") | {"stages": STAGES})
    prepare(recipe, data, run, progress=lambda *_: None)
    _metrics(run)
    sets = {
        "heldout": [_outcome("one two", "one two", 40.0, 5.0), _outcome("two nine", "two five", None, 15.0)],
        "far_field": [_outcome("one", "", 60.0, 10.0)],
    }
    run.evaluation.write_text(
        json.dumps({"model": "tiny/1", "subjects": {}, "streams": dict.fromkeys(sets, 8), "sets": sets})
    )
    return run, data


@pytest.fixture(scope="module")
def page(made):
    run, data = made
    write_report(run, data, "espeak-ng voices (synthetic speech)")
    return run.report.read_text()


def test_the_figures_that_others_read_are_there_and_right(made, page):
    figures = json.loads(made[0].summary.read_text())
    assert figures["wer"] == {"heldout": 0.25, "far_field": 1.0}
    assert (figures["train_seconds"], figures["t_session"], figures["ledger"]) == (60.0, 0.93, LEDGER)
    assert figures["padding_ratio"] == pytest.approx(0.105)
    assert "10.5 %\nwere padding" in page
    assert figures["streaming"]["streams"] == 8
    assert figures["streaming"]["first_interim_p95_ms"] == pytest.approx(59)  # of 40 and 60
    assert figures["streaming"]["final_p95_ms"] == pytest.approx(14.5)  # of 5, 10 and 15
    assert figures["corpus"]["source"].startswith("espeak-ng")
    assert figures["errors"]["heldout"]["cer"] == pytest.approx(2 / 15)  # nine, five
    low, high = figures["errors"]["heldout"]["cer_interval_95"]
    assert 0 == low < 2 / 15 < high <= 0.25  # of "two nine"
    assert f"<td>13.33 %<td>{100 * low:.2f} % – {100 * high:.2f} %<td>" in page
    assert figures["errors"]["heldout"]["sentence_rate"] == 0.5
    assert figures["errors"]["heldout"]["interval_resamples"] == "utterances"
    assert figures["errors"]["heldout"]["substitutions"] == figures["errors"]["far_field"]["deletions"] == 1


def test_the_demo_measures_what_its_report_is_read_for():
    sets = load_recipe(RECIPES / "digits.yaml").evaluation.sets
    assert [chosen.name for chosen in sets] == ["heldout", "unseen_speaker", "far_field"]


def _texts(svg):
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def test_the_page_shows_learning_rates_durations_and_an_example_after_each_stage(page):
    plots = [_texts(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    learning, rates, alignment, durations, stages = plots
    assert {"nine", "encoded frame", "step 20"} <= alignment
    assert {"loss per utterance", "dev WER (%)"} <= learning
    assert {"t_session", "room", "vtlp"} <= rates
    assert {"duration (s)", "utterances", "train", "unseen_speaker"} <= durations
    assert {"recording", "vtlp", "room", "kHz", "time (s)"} <= stages
    words = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
    assert len(stages & words) >= 2  # as the corpus aligns them


def test_the_page_has_error_rates_confusions_and_a_warning_of_synthetic_voices(page):
    assert "25.00 %" in page
    assert page.count('<table class="confusions">') == 2
    assert '<td class="miss">1' in page
    assert "These recordings are synthetic voices" in page


def test_the_page_says_which_weights_training_began_with(page):
    said = re.sub(r"\s+", " ", page)
    assert "Begun with 3 of 4 weights of base. Without a match: lstm_0/bias: [2] in the source, [4] here; old/" in said


def test_another_run_stands_beside_it(made, page):
    run, data = made
    write_report(run, data, "FSDD recordings", compared=run)
    assert json.loads(run.summary.read_text())["compared"]["wer"]["heldout"] == 0.25
    assert "+0 %" in run.report.read_text()
    assert "synthetic voices" not in run.report.read_text()


@pytest.mark.parametrize("command", ["train", "evaluate", "prepare"])
def test_a_run_that_is_not_finished_says_what_to_run(made, tmp_path, command):
    run = RunFolder(tmp_path)
    run.recipe.write_bytes(made[0].recipe.read_bytes())
    finished = {"train": made[0].metrics, "evaluate": made[0].evaluation, "prepare": made[0].shards / "card.json"}
    for name, path in finished.items():
        if name != command:
            copy = tmp_path / path.relative_to(made[0].path)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
    with pytest.raises(BadRun, match=f"`sonorant {command} .*--run {tmp_path}`"):
        write_report(run, made[1], "nowhere")
