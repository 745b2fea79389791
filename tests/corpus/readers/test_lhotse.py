"""Lines as lhotse 1.33.0 wrote them (RecordingSet.to_file, SupervisionSet.to_file), and lines that cannot be used."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonorant.corpus.audio import read_segment
from sonorant.corpus.readers.lhotse import read_lhotse
from sonorant.corpus.utterance import Listing, Segment
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe

RECORDINGS = """\
{"id": "stereo", "sources": [{"type": "file", "channels": [0, 1], "source": "out/stereo.wav"}], \
"sampling_rate": 16000, "num_samples": 32000, "duration": 2.0, "channel_ids": [0, 1]}
{"id": "two", "sources": [{"type": "file", "channels": [0], "source": "out/left.wav"}, {"type": "file", \
"channels": [1], "source": "out/right.flac"}], "sampling_rate": 16000, "num_samples": 32000, "duration": 2.0, \
"channel_ids": [0, 1]}
"""
REFUSED = """\
{"id": "stereo_sp1.1", "sources": [{"type": "file", "channels": [0, 1], "source": "out/stereo.wav"}], \
"sampling_rate": 16000, "num_samples": 29091, "duration": 1.8181875, "channel_ids": [0, 1], \
"transforms": [{"name": "Speed", "kwargs": {"factor": 1.1}}]}
{"id": "cmd", "sources": [{"type": "command", "channels": [0], "source": "sox x.wav -t wav -"}], \
"sampling_rate": 16000, "num_samples": 32000, "duration": 2.0, "channel_ids": [0]}
"""
SUPERVISIONS = """\
{"id": "s1", "recording_id": "stereo", "start": 0.5, "duration": 1.0, "channel": 1, "text": "hello there", \
"language": "en", "speaker": "ann"}
{"id": "s2", "recording_id": "two", "start": 0.0, "duration": 2.0, "channel": 1, "text": "x y", "speaker": "bob"}
{"id": "s3", "recording_id": "stereo", "start": 0.0, "duration": 2.0, "channel": [0, 1], "text": "both"}
{"id": "s4", "recording_id": "two", "start": 0.25, "duration": 0.5, "channel": 0}
{"id": "s5", "recording_id": "cmd", "start": 0.25, "duration": 0.5, "channel": 0, "text": "never"}
"""
SUPERVISION = json.loads(SUPERVISIONS.splitlines()[0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """The folder that lhotse wrote in, and its recordings: noise of two channels."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    noise = np.random.default_rng(0).normal(size=(32000, 2)) * 0.1
    soundfile.write("out/stereo.wav", noise, 16000)
    soundfile.write("out/left.wav", noise[:, 0], 16000)
    soundfile.write("out/right.flac", noise[:, 1], 16000)
    return tmp_path / "out"


def read(folder: Path, recordings: str = RECORDINGS, supervisions: str = SUPERVISIONS) -> Listing:
    (folder / "my_recordings_train.jsonl.gz").write_bytes(gzip.compress(recordings.encode()))
    (folder / "my_supervisions_train.jsonl").write_text(supervisions)
    return read_lhotse(folder)


def entries(found) -> list[tuple[str, str]]:
    return [(entry.recording.rpartition("_")[2], entry.reason) for entry in found]


def test_supervisions_are_stretches_of_a_channel_of_a_file(folder: Path) -> None:
    listing = read(folder, RECORDINGS + REFUSED)
    assert [(u.id, u.text, u.speaker, u.segments[0]) for u in listing.utterances] == [
        ("s1", "hello there", "ann", Segment(Path("out/stereo.wav"), 0.5, 1.0, 1)),
        ("s2", "x y", "bob", Segment(Path("out/right.flac"), 0.0, 2.0, 0)),
        ("s3", "both", "", Segment(Path("out/stereo.wav"), 0.0, 2.0, None)),
    ]


def test_samples_are_those_that_lhotse_loads(folder: Path) -> None:
    """Their sums, of `Recording.load_audio(channels, offset, duration)`; the recipe says which channel of s3's two."""
    recipe = CorpusRecipe(reader="lhotse", path="out")
    sums = {u.id: float(read_segment(u.segments[0], recipe).waveform.sum()) for u in read(folder).utterances}
    assert sums == pytest.approx({"s1": -18.78183, "s2": -17.743591, "s3": 28.529572}, rel=1e-3)


def test_what_is_no_file_is_refused_once_and_a_supervision_without_text_skipped(folder: Path) -> None:
    listing = read(folder, RECORDINGS + REFUSED)
    speed = "[{'kwargs': {'factor': 1.1}, 'name': 'Speed'}]"
    assert entries(listing.faults) == [
        ("train.jsonl.gz:3", f"recording stereo_sp1.1: has transforms, {speed}; save its audio first"),
        ("train.jsonl.gz:4", "recording cmd: its source is of type 'command'; only files are read"),
    ]
    assert entries(listing.skipped) == [("train.jsonl:4", "supervision s4 has no text")]


def test_manifests_of_several_parts_are_read_together(folder: Path) -> None:
    first, second = SUPERVISIONS.splitlines()[:2]
    read(folder, supervisions=first)
    (folder / "my_supervisions_dev.jsonl.gz").write_bytes(gzip.compress(second.encode()))
    assert {u.id for u in read_lhotse(folder).utterances} == {"s1", "s2"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"recording_id": "nowhere"}, "supervision s1 is of recording 'nowhere', which no manifest has"),
        ({"channel": 2}, "supervision s1: channel=2: its recording has [0, 1]; give one of them"),
        ({"channel": "left"}, "supervision s1: channel='left': must be a number from 0, or a list of them"),
        ({"start": -1}, "supervision s1: start=-1.0, duration=1.0: expected >= 0 and > 0 seconds"),
        ({"duration": 0}, "supervision s1: start=0.5, duration=0.0: expected >= 0 and > 0 seconds"),
        ({"start": "0"}, "start='0': must be a number of seconds"),
        ({"id": None}, "id is missing"),
        ({"text": 3}, "text=3: must be a string"),
    ],
)
def test_a_bad_supervision_costs_itself_alone(folder: Path, changed: dict[str, object], reason: str) -> None:
    listing = read(folder, supervisions=json.dumps(SUPERVISION | changed) + "\n" + SUPERVISIONS.splitlines()[1])
    assert [u.id for u in listing.utterances] == ["s2"]
    assert entries(listing.faults) == [("train.jsonl:1", reason)]


def test_a_second_supervision_of_an_id_is_named_with_the_first(folder: Path) -> None:
    listing = read(folder, supervisions=SUPERVISIONS.splitlines()[0] + "\n" + SUPERVISIONS)
    assert len([found for found in listing.utterances if found.id == "s1"]) == 1
    named = [reason for where, reason in entries(listing.faults) if where == "train.jsonl:2"]
    assert named == [f"supervision s1 is already in {folder}/my_supervisions_train.jsonl:1"]


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "right.flac").unlink()
    told = "supervision s2: out/right.flac: no such file; as in lhotse, relative paths start at the current folder"
    assert ("train.jsonl:2", told) in entries(read(folder).skipped)


def test_missing_and_damaged_manifests_are_named(folder: Path) -> None:
    with pytest.raises(BadCorpus, match=r"out: has no \*recordings\*\.jsonl or \*recordings\*\.jsonl\.gz"):
        read_lhotse(folder)
    read(folder)
    packed = folder / "my_recordings_train.jsonl.gz"
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(BadCorpus, match=r"my_recordings_train\.jsonl\.gz: cannot be unpacked: "):
        read_lhotse(folder)
    packed.write_bytes(b"no gzip")
    with pytest.raises(BadCorpus, match=r"my_recordings_train\.jsonl\.gz: cannot be unpacked: Not a gzipped file"):
        read_lhotse(folder)


VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["stereo", "file", 0, [0]]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "source"]), inner, max_size=2),
    max_leaves=4,
)
KEYS = ("id", "sources", "recording_id", "start", "duration", "channel", "text", "speaker", "transforms")
LINE = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUES)).map(json.dumps)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINE, LINE)
def test_any_values_are_utterances_or_named(folder: Path, recording: str, supervision: str) -> None:
    listing = read(folder, f"{RECORDINGS}{recording}\n", f"{SUPERVISIONS}{supervision}\n")
    assert {u.id for u in listing.utterances} >= {"s1", "s2", "s3"}
    assert all(entry.recording.rpartition(":")[2] in ("3", "5", "6") for entry in listing.faults)
