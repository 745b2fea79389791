import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from rigs.babble import RATE_HZ, UNITS, babble_model, babble_recipe, export_babble, murmur

from services.recognizer_client.client import pcm16
from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.decoding import WrongVocabulary
from sonorant.decoding.section import LanguageModelRecipe
from sonorant.errors import BadCorpus, BadLanguageModel
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.export.other_decoding import export_with_decoding
from sonorant.export.run_model import best_is_newer, export_run
from sonorant.lm.training import train
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.warm_up import check_warm_up
from sonorant.training.checkpoints import BadCheckpoint, Checkpoint, Checkpoints, Progress
from sonorant.training.identity import identity


@pytest.fixture
def run(tmp_path):
    """A run with two checkpoints: step 10 is the best, step 20 the latest."""
    recipe, folder = babble_recipe(), RunFolder(tmp_path)
    folder.shards.mkdir()
    folder.recipe.write_text(dump_recipe(recipe))
    (folder.shards / "units.json").write_text(UNITS.to_json())
    checkpoints = Checkpoints(folder.checkpoints, keep=3, warn=pytest.fail)
    for step in (10, 20):
        weights = babble_model(recipe, seed=step).named_weights()
        stale = {name: np.zeros_like(array) for name, array in weights.items()}
        checkpoint = Checkpoint(Progress(step=step), identity(recipe), stale, weights, {}, {}, b"")
        checkpoints.save(checkpoint, best=step == 10)
    return folder


@pytest.mark.parametrize(("which", "step"), [("best", 10), ("latest", 20), ("10", 10)])
def test_the_checkpoint_asked_for_is_exported_with_its_evaluated_weights(run, which, step):
    model = load_exported(export_run(run, which).path)
    features = np.random.default_rng(5).standard_normal((1, 30, model.extractor.bins)).astype(np.float32)
    trained = babble_model(babble_recipe(), seed=step)
    expected, _ = trained.step(features, trained.initial_state(1))
    np.testing.assert_allclose(model.step(features[0], model.initial_state())[0], expected[0], atol=1e-4)


def test_the_same_model_makes_no_new_version_another_does(run):
    exports = [export_run(run, which) for which in ("best", "10", "latest")]
    assert [(e.version, e.is_new) for e in exports] == [(1, True), (1, False), (2, True)]
    assert [e.path for e in exports] == [run.exports / "babble" / version for version in ("1", "1", "2")]


def test_a_best_checkpoint_that_came_after_the_newest_version_is_told(run):
    assert not best_is_newer(run)  # nothing is exported
    first = export_run(run).path
    assert not best_is_newer(run)
    export_run(run, "latest")
    assert not best_is_newer(run)  # somebody chose a later one
    shutil.copytree(run.checkpoints / "step-00000010", run.checkpoints / "step-00000030")
    (run.checkpoints / "best").write_text("step-00000030")
    assert best_is_newer(run)
    shutil.rmtree(first.parent / "2")
    assert best_is_newer(run)
    (run.checkpoints / "best").write_text("")
    assert not best_is_newer(run)  # cut off
    (run.checkpoints / "best").write_text("step-00000030")
    manifest = json.loads((first / "manifest.json").read_text())
    del manifest["step"]
    (first / "manifest.json").write_text(json.dumps(manifest))
    assert not best_is_newer(run)  # of before


def test_the_same_model_with_decoding_that_was_tuned_stays_the_newest_version(run):
    recipe = babble_recipe()

    def tune(folder, beam):
        decoding = recipe.decoding.model_copy(update={"beam": beam})
        return export_with_decoding(folder, recipe.model_copy(update={"decoding": decoding}))

    for version, beam in ((2, 3), (3, 4)):
        tuned = tune(export_run(run).path, beam)
        again = export_run(run)
        assert (tuned.version, again.path, again.is_new) == (version, tuned.path, False)
    assert [export_run(run, which).is_new for which in ("latest", "best")] == [True, True]
    other = export_babble(run.path / "others", seed=2).path
    ensemble = export_run(run, others=[other])
    assert export_run(run, others=[tune(other, 5).path]).path == ensemble.path


def test_an_export_has_recorded_requests_of_dev(run):
    audio = encode_audio(murmur(1.0), RATE_HZ, "pcm16")
    write_shard(run.shards / shard_name("dev", 0, 1), [Record("a", "", "alpha", RATE_HZ, 1.0, "pcm16", audio)])
    model = load_exported(folder := export_run(run).path)
    (entry,) = (json.loads(line) for line in (folder / "warm_up/manifest.jsonl").read_text().splitlines())
    session = Session(model, SessionOptions())
    session.push(pcm16(murmur(1.0)))
    heard = session.finish()[-1].alternatives[0].text
    assert (entry["text"], bool(entry["text"])) == (heard, True)
    check_warm_up(model, folder)


def test_a_changed_recipe_makes_a_new_version(run):
    export_run(run)
    run.recipe.write_text(dump_recipe(babble_recipe(max_streams=3)))
    assert export_run(run).version == 2


def test_how_the_model_was_trained_makes_no_new_version(run):
    export_run(run)
    changed = babble_recipe().model_dump(mode="json") | {"pipeline": {"layout": "fused"}, "training": {"epochs": 7}}
    run.recipe.write_text(dump_recipe(Recipe.model_validate(changed)))
    assert not export_run(run).is_new


def test_a_model_that_recognizers_come_to_compute_otherwise_is_exported_again(run, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr("sonorant.export.versions._COMPUTATION", b"1")
        assert export_run(run).version == 1
    assert (export_run(run).version, export_run(run).is_new) == (2, False)


def test_a_damaged_version_is_not_taken_for_the_same_model(run):
    (export_run(run).path / "units.json").write_text("[]")
    assert export_run(run).version == 2


def test_an_export_that_is_done_does_not_load_tensorflow(run):
    export_run(run)
    program = f"""
import pathlib, sys
from sonorant.export.run_model import export_run
from sonorant.lm.training import train
from sonorant.run_folder import RunFolder
from sonorant.serving.session import Session, SessionOptions
print(export_run(RunFolder(pathlib.Path({str(run.path)!r}))).is_new, "tensorflow" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["False", "False"], said.stderr


def with_lm(run, path):
    recipe = babble_recipe()
    decoding = recipe.decoding.model_copy(update={"lm": LanguageModelRecipe(path=str(path))})
    run.recipe.write_text(dump_recipe(recipe.model_copy(update={"decoding": decoding})))


def language_model(path, *sentences):
    text = path.with_suffix(".txt")
    text.write_text("\n".join(sentences))
    train([text], path, order=2)


def test_an_export_has_a_copy_of_its_language_model(run, tmp_path):
    path = tmp_path / "small.arpa"
    language_model(path, "alpha beta delta gamma")
    with_lm(run, path)
    first = export_run(run)
    assert not export_run(run).is_new
    language_model(path, "gamma beta delta alpha")
    second = export_run(run)
    path.unlink()
    assert (first.version, second.version) == (1, 2)
    model = load_exported(second.path)
    assert model.recipe.decoding.lm.path == "lm.arpa"
    assert model.scorer.fusion.model.order == 2
    assert Session(model, SessionOptions()).finish()[-1].alternatives[0].text == ""
    copy = second.path / "lm.arpa"
    copy.write_bytes(copy.read_bytes()[:-20])
    with pytest.raises(BadExport, match=r"lm\.arpa: SHA-256"):
        load_exported(second.path)


def test_a_language_model_changes_what_the_recognizer_writes(run, tmp_path):
    audio = pcm16(murmur(2.0, seed=4))

    def words():
        session = Session(load_exported(export_run(run).path), SessionOptions(interim_results=False))
        session.push(audio)
        return session.finish()[-1].alternatives[0].text.split()

    plain = words()
    assert plain
    language_model(tmp_path / "small.arpa", "alpha", "alpha", "alpha")
    recipe = babble_recipe()
    lm = LanguageModelRecipe(path=str(tmp_path / "small.arpa"), alpha=10.0, beta=10.0, unknown=-100.0)
    decoding = recipe.decoding.model_copy(update={"lm": lm})
    run.recipe.write_text(dump_recipe(recipe.model_copy(update={"decoding": decoding})))
    with pytest.raises(WrongVocabulary, match="3 of 4 words of the model are not in the language model"):
        export_run(run)
    language_model(tmp_path / "small.arpa", *["alpha"] * 50, "beta")
    fused = words()
    assert fused
    assert set(fused) <= {"alpha", "beta"}
    assert not set(plain) & set(fused)


def test_a_language_model_that_is_missing_or_of_another_vocabulary_is_named(run, tmp_path):
    with_lm(run, tmp_path / "none.arpa")
    with pytest.raises(BadExport, match=r"none\.arpa: No such file"):
        export_run(run)
    other = tmp_path / "other.arpa"
    language_model(other, "THESE ARE OTHER WORDS")
    with_lm(run, other)
    with pytest.raises(WrongVocabulary, match="not in the language model"):
        export_run(run)
    other.write_bytes(other.read_bytes()[:-20])
    with pytest.raises(BadLanguageModel, match=r"other\.arpa: "):
        export_run(run)
    assert not list(run.exports.glob("*/[0-9]*"))


def test_a_checkpoint_that_is_not_there_is_named(run):
    with pytest.raises(BadCheckpoint, match="'30'"):
        export_run(run, "30")


def test_a_recipe_of_another_model_is_refused(run):
    run.recipe.write_text(run.recipe.read_text().replace("cells: 24", "cells: 25"))
    with pytest.raises(BadExport, match=r"model\.cells: 24 then, 25 now"):
        export_run(run)


def test_missing_units_are_named(run):
    (run.shards / "units.json").unlink()
    with pytest.raises(BadCorpus, match=r"units\.json: no such file"):
        export_run(run)


def test_an_ensemble_is_the_same_model_as_long_as_its_members_are(run, tmp_path):
    others = [export_babble(tmp_path / "others", seed=seed).path for seed in (2, 3)]
    first = export_run(run, others=others)
    again = export_run(run, others=others)
    assert [export_run(run, others=others[:count]).version for count in (1, 0)] == [2, 3]
    assert (first.version, again.version, again.is_new) == (1, 1, False)
    assert [len(load_exported(run.exports / "babble" / str(v)).members) for v in (1, 2, 3)] == [3, 2, 1]
