import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from rigs.babble import UNITS
from rigs.tiny_lm import spread, text_recipe, tiny_lm
from rigs.tunable_run import write_tunable_run
from rigs.whole_recording import within_quiet
from ruamel.yaml import YAML

from services.evaluation.test_sets import read_references
from services.recognizer_client.client import pcm16
from services.recognizer_client.recordings import read_recording
from services.storage.run import open_run
from sonorant.cli.tune import command
from sonorant.errors import BadRecipe, BadRun, BadShard
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.export.saved_language_model import export_language_model
from sonorant.recipe.loading import load_recipe
from sonorant.run_folder import RunFolder
from sonorant.serving.posteriors import open_posteriors, whole_posteriors
from sonorant.serving.session import Session, SessionOptions
from sonorant.text.scoring import score
from sonorant.tuning import BadTuning, read_outputs


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """The run, and the utterances of its dev set."""
    return write_tunable_run(tmp_path_factory.mktemp("tune"))


@pytest.fixture(scope="module")
def prepared(spoken):
    return spoken[0]


@pytest.fixture
def run(prepared, tmp_path):
    shutil.copytree(prepared.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def tune(run, *arguments):
    return CliRunner().invoke(command, ["--run", str(run.path), "--jobs", "1", "--trials", "40", *arguments])


def test_the_weights_are_tuned_once_and_exported_as_the_next_version(run):
    done = tune(run)
    assert done.exit_code == 0, done.output
    document = json.loads(run.tuning.read_text())
    assert f"{document['before']['errors']} word errors became {document['best']['errors']}" in done.output
    assert document["best"]["errors"] < 0.2 * document["before"]["errors"]
    best = document["best"]["weights"]
    section = f"decoding:\n  lm:\n    alpha: {best['lm.alpha']:g}\n    beta: {best['lm.beta']:g}\n"
    assert section in done.output
    assert "--export writes a version with these weights" in done.output
    assert [path.name for path in (run.exports / "babble").iterdir()] == ["1"]
    exported = tune(run, "--export")
    assert f"exported version 2: {run.exports / 'babble' / '2'}" in exported.output
    assert "--export writes" not in exported.output
    assert json.loads(run.tuning.read_text()) == document
    old, new = (load_exported(run.exports / "babble" / version) for version in "12")
    assert (new.recipe.decoding.lm.alpha, new.recipe.decoding.lm.beta) == (best["lm.alpha"], best["lm.beta"])
    assert new.recipe.decoding.lm.path == old.recipe.decoding.lm.path == "lm.arpa"
    assert new.scorer.fusion.alpha == best["lm.alpha"]
    again = tune(run, "--export")
    assert "version 2 has these weights; nothing to do" in again.output
    tried = json.loads(run.tuning.read_text())["trials"]
    assert tried[: len(document["trials"])] == document["trials"]  # of the same model, so none is run again


def test_characters_make_the_fewest_wrong_characters(run):
    done = tune(run, "--characters", "--trials", "10")
    assert done.exit_code == 0, done.output
    document = json.loads(run.tuning.read_text())
    before, best = document["before"], document["best"]
    assert f"{before['errors']} character errors became {best['errors']}" in done.output
    assert f"{before['characters']} characters" in done.output
    assert best["cer"] == best["errors"] / best["characters"] < before["cer"]
    assert "words" not in best


def test_streams_of_what_was_tuned_with_a_neural_language_model_have_the_errors_of_its_trial(spoken, run, tmp_path):
    lm = export_language_model(spread(tiny_lm(units=UNITS.size)), text_recipe(), UNITS, tmp_path / "lm").path
    done = tune(run, "--set", f"decoding.lm={{path: {lm}, alpha: 2.0}}", "--trials", "4", "--export")
    assert done.exit_code == 0, done.output
    best = json.loads(run.tuning.read_text())["best"]
    model = load_exported(run.exports / "babble" / "2")
    assert model.scorer.neural.alpha == best["weights"]["lm.alpha"]
    pairs = []
    for waveform, text in spoken[1]:
        session = Session(model, SessionOptions(interim_results=False))
        audio = pcm16(waveform)
        session.push(audio[:6000])
        session.push(audio[6000:])
        pairs.append((text, session.finish()[-1].alternatives[0].text))
    assert score(pairs).errors == best["errors"]


def test_the_run_may_be_in_a_store_that_gets_the_export(run, tmp_path):
    names = [path.name for path in run.shards.glob("*.tfrecord")]
    (run.shards / "plan.json").write_text(json.dumps({"shards": names}))
    (run.shards / "card.md").write_text("made up")
    (run.shards / "units.json").write_text(UNITS.to_json())
    url = f"file://{tmp_path}/store"
    maker = open_run(run.path, url)
    maker.push_shards()
    maker.push_exports()
    elsewhere = RunFolder(tmp_path / "elsewhere")
    done = tune(elsewhere, "--trials", "3", "--export", "--store", url)
    assert f"exported version 2: {elsewhere.exports / 'babble' / '2'}" in done.output
    maker.pull_exports()
    expected = json.loads(elsewhere.tuning.read_text())["best"]["weights"]["lm.alpha"]
    assert load_exported(run.exports / "babble" / "2").recipe.decoding.lm.alpha == expected


def test_outputs_are_averages_over_the_jitter_of_set(run):
    done = tune(run, "--trials", "1", "--set", "decoding.jitter_ms=5")
    assert done.exit_code == 0, done.output
    model = load_exported(run.exports / "babble" / "1")
    (first, *_) = read_references(run.recordings / "dev")
    frames = whole_posteriors(
        open_posteriors(model, jitter_ms=5.0),
        within_quiet(read_recording(first.recording, model.sample_rate_hz), model.sample_rate_hz),
    )
    np.testing.assert_array_equal(read_outputs(run.tuning_outputs / "dev").frames(0), frames)


def test_another_language_model_may_be_given_and_another_range(run, tmp_path):
    shutil.copyfile(run.exports / "babble" / "1" / "lm.arpa", tmp_path / "other.arpa")
    arguments = ("--set", f"decoding.lm={{path: {tmp_path / 'other.arpa'}, alpha: 0.1}}", "--vary", "lm.alpha=1:2")
    done = tune(run, *arguments, "--trials", "5", "--export")
    assert done.exit_code == 0, done.output
    document = json.loads(run.tuning.read_text())
    assert document["before"]["weights"] == {"lm.alpha": 0.1, "lm.beta": 1.0}
    assert len(document["trials"]) == 5
    assert all(1 <= trial["weights"]["lm.alpha"] <= 2 for trial in document["trials"][1:])
    assert load_exported(run.exports / "babble" / "2").recipe.decoding.lm.beta == 1.0
    said = done.output.partition("\ndecoding:\n")[2]
    assert f"    path: {tmp_path / 'other.arpa'}\n" in said
    assert f"    alpha: {document['best']['weights']['lm.alpha']:g}\n" in said


@pytest.mark.parametrize(
    "given",
    [
        ("decoding.lm.alpha=1", "decoding.lm={path: LM}"),
        ("decoding.lm=null", "decoding.lm.path=LM"),
        ("decoding.lm={path: LM}", "decoding.phrases=[alpha, beta]", "decoding.phrases.1=gamma"),
    ],
    ids=" ".join,
)
def test_the_section_that_is_printed_makes_the_recipe_that_was_tuned(run, tmp_path, given):
    shutil.copyfile(run.exports / "babble" / "1" / "lm.arpa", lm := tmp_path / "other.arpa")
    done = tune(run, "--trials", "3", *(f"--set={one.replace('LM', str(lm))}" for one in given))
    assert done.exit_code == 0, done.output
    printed = "decoding:\n" + done.output.partition("\ndecoding:\n")[2].partition("\n--export")[0]
    section = YAML(typ="safe").load(printed)["decoding"]
    recipe = load_recipe(run.exports / "babble" / "1" / "recipe.yaml")
    tuned = type(recipe.decoding).model_validate(recipe.decoding.model_dump(mode="json") | section)
    best = json.loads(run.tuning.read_text())["best"]["weights"]
    assert f"{tuned.lm.alpha:g}" == f"{best['lm.alpha']:g}"
    assert tuned.lm.path == str(lm)
    assert [str(phrase) for phrase in section.get("phrases", [])] in ([], ["alpha", "gamma"])


def test_a_list_that_is_given_in_part_is_printed_whole(run):
    again = run.path.parent / "phrased"
    shutil.copytree(run.path, again)
    phrased = tune(RunFolder(again), "--trials", "1", "--export", "--set=decoding.phrases=[alpha, beta]")
    assert phrased.exit_code == 0, phrased.output
    said = tune(RunFolder(again), "--trials", "1", "--set=decoding.phrases.1=gamma").output
    assert YAML(typ="safe").load(said.partition("\ndecoding:\n")[2].partition("\n--export")[0])["phrases"] == [
        "alpha",
        "gamma",
    ]


def test_settings_of_the_environment_are_in_the_section_that_is_printed(run, monkeypatch):
    monkeypatch.setenv("SONORANT_DECODING__BEAM", "3")
    assert "  beam: 3\n" in tune(run, "--trials", "1").output.partition("decoding:\n")[2]


def test_another_set_may_be_given(run):
    rooms = "{stage: room, t60_s: {low: 0.1, high: 0.2}, snr_db: {low: 20, high: 25}, noise_sources: [1, 1]}"
    sets = f"evaluation.sets=[{{name: rooms, split: dev, seed: 3, room: {rooms}}}]"
    done = tune(run, "--set", sets, "--set-name", "rooms", "--trials", "3", "--export", "--data", str(run.path))
    assert done.exit_code == 0, done.output
    assert "rooms: 10 utterances" in done.output
    assert (run.tuning_outputs / "rooms").is_dir()
    document = json.loads(run.tuning.read_text())
    assert (document["set"], len(document["trials"])) == ("rooms", 3)
    for manifest in (run.exports / "babble").iterdir():
        assert [one.name for one in load_exported(manifest).recipe.evaluation.sets] == ["heldout"]


def refused(run, *arguments):
    return tune(run, *arguments).exception


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("--vary", "lm.alpha=3:0"), BadTuning, "lm.alpha=3:0: expected finite numbers LOW < HIGH"),
        (("--vary", "lm.alpha=0:30"), BadTuning, "lm.alpha: 30 is out of range"),
        (("--vary", "ctc_weight=0:0.5"), BadTuning, "ctc_weight: no weight of this recipe's search"),
        (("--set", "decoding.lm=null"), BadTuning, "nothing to tune"),
        (("--set-name", "lunch"), BadTuning, "--set-name lunch: no such set; expected one of dev, heldout"),
        (("--set", "decoding.beam=0"), BadRecipe, "decoding.beam=0: must be greater than or equal to 1"),
        (("--set", "decoding.lm.alpha=-1"), BadRecipe, "decoding.lm.alpha=-1: must be greater"),
        (("--set", "decoding.lm.path=none.arpa"), BadExport, "decoding.lm.path=none.arpa: No such file"),
    ],
)
def test_what_is_not_possible_is_refused_by_name(prepared, arguments, error, message):
    fault = refused(prepared, *arguments)
    assert (type(fault), message in str(fault)) == (error, True), fault
    assert fault.exit_code in (65, 78)


def test_a_run_without_export_or_dev_is_refused_by_name(run):
    shutil.rmtree(run.shards)
    run.shards.mkdir()
    assert "has no corpus" in str(refused(run))
    (run.shards / "card.json").write_text('{"of": "another corpus"}')
    fault = refused(run)
    assert (type(fault), "no shards of split 'dev'" in str(fault)) == (BadShard, True)
    shutil.rmtree(run.exports)
    fault = refused(run)
    assert (type(fault), "no exported model; run `sonorant export" in str(fault)) == (BadRun, True)


def test_another_setting_than_that_of_the_search_is_refused(prepared):
    done = tune(prepared, "--set", "seed=1")
    assert (done.exit_code, "expected decoding.KEY=VALUE or" in done.output) == (2, True)
