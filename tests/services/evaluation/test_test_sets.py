import json

import numpy as np
import pytest
import soundfile
from rigs.small_corpus import RATE_HZ, digits_recipe, write_digits

from services.evaluation.test_sets import read_references, write_test_set
from sonorant.corpus.preparing import prepare
from sonorant.corpus.shards import ShardSet
from sonorant.errors import BadRun
from sonorant.recipe.loading import check_recipe
from sonorant.recipe.training import TestSetRecipe
from sonorant.run_folder import RunFolder

ROOM = {"stage": "room", "noise_sources": (1, 1), "snr_db": {"low": 10, "high": 10}}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A data folder and a run with shards; three digits a string leave time for a reverberant tail."""
    folder = tmp_path_factory.mktemp("evaluation")
    run = RunFolder(folder / "run")
    prepare(digits_recipe(), write_digits(folder / "data"), run, progress=lambda *_: None)
    return folder / "data", run


def _write(prepared, **settings):
    data, run = prepared
    folder = write_test_set(run, data, TestSetRecipe.model_validate({"split": "test"} | settings))
    return folder, read_references(folder)


def test_recordings_are_the_split_sample_for_sample(prepared):
    shards = ShardSet.open(prepared[1].shards, "test")
    _, references = _write(prepared, name="plain")
    assert len(references) == shards.total == 6
    for reference, record in zip(references, shards, strict=True):
        samples, rate_hz = soundfile.read(reference.recording, dtype="float32")
        assert rate_hz == RATE_HZ
        np.testing.assert_array_equal(samples, record.waveform())
        assert (reference.utterance, reference.text, reference.words) == (record.utterance, record.text, record.words)


def test_recordings_that_are_not_all_there_are_written_again(prepared):
    folder, references = _write(prepared, name="damaged")
    manifest = folder / "manifest.jsonl"
    lines = manifest.read_text().splitlines(keepends=True)
    for damage in (
        lambda: manifest.write_text("".join(lines[:2])),
        lambda: manifest.write_text("{"),
        manifest.unlink,
        lambda: (folder / "origin").write_bytes(b"\xff"),
        references[0].recording.unlink,
        lambda: references[1].recording.write_bytes(b"RIFF"),
    ):
        damage()
        assert _write(prepared, name="damaged") == (folder, references)
        assert all(reference.recording.stat().st_size > 1000 for reference in references)
    written = manifest.stat().st_mtime_ns
    _write(prepared, name="damaged")
    assert manifest.stat().st_mtime_ns == written


def test_a_set_of_another_prepared_run_is_that_run_s_split(prepared, tmp_path):
    data, other = prepared
    run = RunFolder(tmp_path / "run")
    prepare(digits_recipe(strings={"train": 2, "dev": 1, "test": 3}), data, run, progress=lambda *_: None)
    chosen = TestSetRecipe(name="other", split="test", run=str(other.path))
    references = read_references(write_test_set(run, data, chosen))
    assert [r.utterance for r in references] == [r.utterance for r in ShardSet.open(other.shards, "test")]
    assert all(r.recording.is_relative_to(run.recordings) for r in references)


def test_a_set_of_a_run_that_is_not_prepared_names_the_set_and_the_folder(prepared, tmp_path):
    data, run = prepared
    with pytest.raises(BadRun, match=r"evaluation\.sets: lost: run: .*nowhere/shards has no corpus"):
        write_test_set(run, data, TestSetRecipe(name="lost", split="test", run=str(tmp_path / "nowhere")))


def test_ids_that_are_paths_or_too_long_name_files_too(prepared, tmp_path):
    ids = ["up/ann_1", "up%2Fann_1", "../up", "é" * 300, "/x", "plain"]
    (tmp_path / "a.wav").symlink_to(next((prepared[0] / "digits").glob("*.wav")))
    entry = {"audio_filepath": "a.wav", "duration": 0.1, "text": "one"}
    entries = [entry | {"id": key} for key in (*ids, *(f"other {i}" for i in range(20)))]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, entries)))
    recipe = digits_recipe(
        reader="manifest", path="all.jsonl", strings=None, splits={"dev_fraction": 0, "test_fraction": 0.9}
    )
    run = RunFolder(tmp_path / "run")
    prepare(recipe, tmp_path, run, progress=lambda *_: None)
    references = read_references(write_test_set(run, tmp_path, TestSetRecipe(name="odd", split="test")))
    assert {one.utterance for one in references} >= set(ids) - {r.utterance for r in ShardSet.open(run.shards, "train")}
    assert len({one.recording for one in references}) == len(references)
    assert all(one.recording.parent == run.recordings / "odd" and one.recording.is_file() for one in references)
    assert "plain.wav" in {one.recording.name for one in references}


def test_a_set_of_a_language_model_s_run_has_no_recordings(prepared, tmp_path):
    (tmp_path / "text.txt").write_text("".join(f"sentence {i}\n" for i in range(100)))
    recipe = {
        "version": 1,
        "name": "lm",
        "corpus": {"reader": "text", "path": "text.txt"},
        "model": {"family": "lstm_lm"},
    }
    prepare(check_recipe(recipe, "lm"), tmp_path, RunFolder(tmp_path / "lm"), progress=lambda *_: None)
    data, run = prepared
    with pytest.raises(BadRun, match=r"evaluation\.sets: said: run: .*lm/shards has text alone"):
        write_test_set(run, data, TestSetRecipe(name="said", split="test", run=str(tmp_path / "lm")))


def test_a_room_changes_every_recording_and_keeps_its_length(prepared):
    _, plain = _write(prepared, name="plain")
    _, far = _write(prepared, name="far", room=ROOM)
    for near, distant in zip(plain, far, strict=True):
        before, after = soundfile.read(near.recording)[0], soundfile.read(distant.recording)[0]
        assert before.shape == after.shape
        assert np.corrcoef(before, after)[0, 1] < 0.99


def test_a_gain_makes_every_recording_softer_by_so_many_decibels(prepared):
    _, plain = _write(prepared, name="plain")
    _, soft = _write(prepared, name="soft", gain_db=-20)
    for near, softer in zip(plain, soft, strict=True):
        before, after = soundfile.read(near.recording)[0], soundfile.read(softer.recording)[0]
        np.testing.assert_allclose(after, before / 10, atol=0.5 / 32768)


def test_the_same_set_is_written_once_and_another_seed_anew(prepared):
    folder, references = _write(prepared, name="seeded", room=ROOM, seed=1)
    first = references[0].recording.read_bytes()
    inode = folder.stat().st_ino
    assert _write(prepared, name="seeded", room=ROOM, seed=1)[0].stat().st_ino == inode
    _, other = _write(prepared, name="seeded", room=ROOM, seed=2)
    assert other[0].recording.read_bytes() != first
