import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from rigs.babble import RATE_HZ, export_babble, murmur

from services.recognizer.loading import load_served
from sonorant.audio.pcm import to_int16
from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.export.loading import load_exported
from sonorant.export.manifest import MANIFEST, checksums, read_manifest
from sonorant.export.other_decoding import export_with_decoding
from sonorant.export.warm_up import add_warm_up, as_wav, dev_recordings
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.warm_up import FailedWarmUp, check_warm_up, recorded_requests


def record(seconds, seed=0, text="", encoding="pcm16", waveform=None):
    waveform = murmur(seconds, seed) if waveform is None else waveform
    audio = b"" if encoding == "none" else encode_audio(waveform, RATE_HZ, encoding)
    return Record(f"{seed:03d}", "", text, RATE_HZ, seconds, encoding, audio)


def streamed(model, waveform):
    session = Session(model, SessionOptions(utterances=False))
    audio = to_int16(waveform).astype("<i2").tobytes()
    for first in range(0, len(audio), 1000):
        session.push(audio[first : first + 1000])
    return session.finish()[-1].alternatives[0]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = export_babble(tmp_path_factory.mktemp("made")).path
    model = load_exported(folder)
    recordings = [record(1.0, seed) for seed in range(5)]
    silence = record(1.0, 9, waveform=np.zeros(RATE_HZ, np.float32))
    add_warm_up(folder, model, [silence, *recordings])
    return folder, model, recordings


@pytest.fixture
def warm(made, tmp_path):
    """An export with recorded requests, its model, and the recordings that these were chosen from."""
    folder, model, recordings = made
    return shutil.copytree(folder, tmp_path / "babble/1"), model, recordings


def recorded(folder):
    return [json.loads(line) for line in (folder / "warm_up/manifest.jsonl").read_text().splitlines()]


def rewrite(folder, entries):
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    (folder / "warm_up/manifest.jsonl").write_text("\n".join(lines))
    manifest = replace(read_manifest(folder), files=checksums(folder))
    (folder / MANIFEST).write_text(manifest.to_json())


def test_a_text_may_have_a_separator_of_lines_that_is_no_line_feed(warm):
    folder = warm[0]
    text = "one\u2028two\x85three"
    manifest = folder / "warm_up/manifest.jsonl"
    manifest.write_text(json.dumps({"audio_filepath": "0.wav", "text": text}, ensure_ascii=False) + "\n")
    assert list(recorded_requests(folder)) == [(folder / "warm_up/0.wav", text)]


def test_the_surest_recordings_are_exported_with_the_transcripts_of_their_streams(warm):
    folder, model, recordings = warm
    best = sorted((streamed(model, one.waveform()) for one in recordings), key=lambda one: -one.confidence)[:3]
    assert [entry["text"] for entry in recorded(folder)] == [one.text for one in best]
    assert all(one.text for one in best)
    assert {path.name for path in (folder / "warm_up").iterdir()} == {"0.wav", "1.wav", "2.wav", "manifest.jsonl"}
    assert load_served(folder, streams=True).version == 1  # checksums too


def test_a_right_transcript_is_preferred(tmp_path):
    folder = export_babble(tmp_path).path
    model = load_exported(folder)
    surest, *_, last = sorted((streamed(model, murmur(1.0, seed)).confidence, seed) for seed in range(5))[::-1]
    text = streamed(model, murmur(1.0, last[1])).text
    wrong = [record(1.0, seed, "nothing of that") for seed in range(5) if seed != last[1]]
    add_warm_up(folder, model, [*wrong, record(1.0, last[1], text)])
    assert recorded(folder)[0]["text"] == text
    assert surest[1] != last[1]


def test_the_first_eight_are_looked_at(tmp_path):
    folder = export_babble(tmp_path).path
    model = load_exported(folder)
    right = record(1.0, 8, streamed(model, murmur(1.0, 8)).text)
    add_warm_up(folder, model, [*(record(1.0, seed, "nothing of that") for seed in range(8)), right])
    kept = {path.read_bytes() for path in (folder / "warm_up").glob("*.wav")}
    assert len(kept) == 3
    assert as_wav(right) not in kept


def test_a_version_that_recognizes_something_else_is_refused_and_the_one_before_goes_on(warm):
    folder, *_ = warm
    new = folder.with_name("2")
    shutil.copytree(folder, new)
    first, *others = recorded(new)
    rewrite(new, [first | {"text": "delta"}, *others])
    store = ModelStore(folder.parents[1], lambda path: load_served(path, streams=False))
    refused, served = store.refresh()
    assert f"0.wav: warm-up recognized {first['text']!r}, expected 'delta'" in refused.refusal
    assert (served.refusal, store.get().version) == ("", 1)
    states = [(state.version, state.state, bool(state.refusal)) for state in store.versions("babble")]
    assert states == [(2, "END", True), (1, "AVAILABLE", False)]


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([{"audio_filepath": "7.wav", "text": "a"}], "7.wav: warm-up failed: .*No such file"),
        ([{"audio_filepath": "manifest.jsonl", "text": "a"}], "warm-up failed: .*WAV"),
        (["{"], "no recorded requests"),
        (["[]"], "no recorded requests"),
        ([{"text": "a"}], "no recorded requests"),
    ],
)
def test_a_warm_up_that_cannot_run_refuses_the_version(warm, entries, reason):
    folder, model, _ = warm
    rewrite(folder, entries)
    with pytest.raises(FailedWarmUp, match=reason):
        check_warm_up(model, folder)


def test_another_decoding_has_transcripts_of_its_own(warm):
    folder, model, _ = warm
    decoding = model.recipe.decoding.model_copy(update={"phrases": ("delta",), "phrase_boost": 20.0})
    done = export_with_decoding(folder, model.recipe.model_copy(update={"decoding": decoding}))
    other = load_exported(done.path)
    check_warm_up(other, done.path)
    assert [entry["text"] for entry in recorded(done.path)] != [entry["text"] for entry in recorded(folder)]
    with pytest.raises(FailedWarmUp):
        check_warm_up(other, folder)


def test_an_export_without_recorded_requests_is_served(tmp_path):
    folder = export_babble(tmp_path).path
    add_warm_up(folder, load_exported(folder), [])
    assert not (folder / "warm_up").exists()
    assert load_served(folder, streams=False).version == 1


def test_others_may_compute_after_each_tenth_of_a_second_of_a_warm_up(warm):
    folder, model, _ = warm
    rests = []
    check_warm_up(model, folder, lambda: rests.append(0))
    assert len(rests) == 30


def test_short_recordings_of_dev_are_read_and_none_where_there_is_no_dev(tmp_path):
    assert dev_recordings(tmp_path) == []
    durations = [3.0, 0.1, 1.0, 20.0, 0.5, *np.linspace(4, 9, 20)]
    records = [record(seconds, seed) for seed, seconds in enumerate(durations)]
    records.append(record(1.0, 99, encoding="none"))
    write_shard(tmp_path / shard_name("dev", 0, 1), records)
    found = [one.duration_s for one in dev_recordings(tmp_path)]
    assert found[:4] == [0.5, 1.0, 3.0, 4.0]
    assert (len(found), found) == (23, sorted(found))
