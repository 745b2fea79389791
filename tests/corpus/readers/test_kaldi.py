from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonorant.corpus.readers.kaldi import read_kaldi
from sonorant.corpus.utterance import Listing, Segment
from sonorant.errors import BadCorpus


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "wavs").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / f"wavs/{name}.wav").touch()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def read(folder: Path, **tables: str) -> Listing:
    for name, text in tables.items():
        (folder / name.replace("_", ".")).write_text(text)
    return read_kaldi(folder)


def entries(found) -> list[tuple[str, str]]:
    return [(Path(entry.recording).name, entry.reason) for entry in found]


def test_without_segments_a_recording_is_an_utterance(folder: Path) -> None:
    listing = read(
        folder,
        wav_scp=f"a wavs/a.wav\nb\t {folder.parent}/wavs/b.wav \n",
        text="b  GO ON\na STOP\n",
        utt2spk="a ann\nb bob",
    )
    assert [(u.id, u.text, u.speaker, u.segments) for u in listing.utterances] == [
        ("a", "STOP", "ann", (Segment(Path("wavs/a.wav")),)),
        ("b", "GO ON", "bob", (Segment(folder.parent / "wavs/b.wav"),)),
    ]
    assert not listing.skipped
    assert not listing.faults


def test_an_utterance_names_the_line_of_its_segment(folder: Path) -> None:
    tables = {"wav_scp": "a wavs/a.wav\n", "text": "u GO\n", "segments": "\nu a 0 1\n"}
    assert read(folder, **tables).utterances[0].line == f"{folder}/segments:2"


def test_a_speaker_of_two_words_is_a_fault(folder: Path) -> None:
    listing = read(folder, wav_scp="a wavs/a.wav\n", text="a x\n", utt2spk="a ann b\n")
    assert listing.utterances == ()
    assert entries(listing.faults) == [("utt2spk:1", "a has 2 speakers; expected one, without spaces")]


def test_segments_cut_recordings(folder: Path) -> None:
    segments = "u1 a 0.5 1.75\nu2 a 2 -1\nu3 b 0 1.5 1\n"
    listing = read(folder, wav_scp="a wavs/a.wav\nb wavs/b.wav\n", segments=segments, text="u1 x\nu2 y\nu3 z\n")
    assert [u.segments[0] for u in listing.utterances] == [
        Segment(Path("wavs/a.wav"), 0.5, 1.25, overshoot_s=0.5),
        Segment(Path("wavs/a.wav"), 2.0, None),
        Segment(Path("wavs/b.wav"), 0.0, 1.5, channel=1, overshoot_s=0.5),
    ]
    assert {u.speaker for u in listing.utterances} == {""}


def test_relative_paths_start_at_the_current_folder_as_in_kaldi(folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder.parent / "elsewhere")
    listing = read(folder, wav_scp="a wavs/a.wav\nb ../wavs/b.wav\n", text="a x\nb y\n")
    assert [u.id for u in listing.utterances] == ["b"]
    told = "wavs/a.wav: no such file; as in Kaldi, relative paths start at the current folder"
    assert entries(listing.skipped) == [("wav.scp:1", told)]
    assert not listing.faults


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            "sph2pipe -f wav a.sph |",
            "is a pipe, 'sph2pipe -f wav a.sph |': a corpus must not bring commands for a shell",
        ),
        ("-", "is standard input; expected the path of a recording"),
        ("raw.ark:1234", "is part of an archive, 'raw.ark:1234'"),
        ("", "has no path"),
        ("n" * 300, "and a name in it 255"),
    ],
)
def test_a_recording_that_is_no_plain_file_is_refused_once(folder: Path, value: str, reason: str) -> None:
    (folder / "segments").write_text("u1 a 0 1\nu2 bad 0 1\nu3 bad 1 2\n")
    listing = read(folder, wav_scp=f"a wavs/a.wav\nbad {value}\n", text="u1 x\nu2 y\nu3 z\n")
    assert [u.id for u in listing.utterances] == ["u1"]
    ((where, why),) = entries(listing.faults)
    assert where == "wav.scp:2"
    assert why.startswith("bad ")
    assert reason in why


@pytest.mark.parametrize(
    ("segment", "reason"),
    [
        ("u9 a 1", "u9 has 2 field(s); expected recording, start, end and perhaps a channel"),
        ("u9 zzz 0 1", "u9 is of recording zzz, which wav.scp does not have"),
        ("u9 a one 2", "u9 has 'one 2'; expected start and end in seconds, and a channel"),
        ("u9 a 2 1", "u9 goes from 2.0 to 1.0 s; expected 0 <= start < end, or -1 for the recording's end"),
        ("u9 a nan 1", "u9 goes from nan to 1.0 s; expected 0 <= start < end, or -1 for the recording's end"),
        ("u9 a 0 inf", "u9 goes from 0.0 to inf s; expected 0 <= start < end, or -1 for the recording's end"),
        ("u9 a 0 1 -1", "u9 has channel -1; the first is 0"),
        ("u1 a 0 1", "u1 is already in line 1"),
    ],
)
def test_a_bad_segment_costs_itself_alone(folder: Path, segment: str, reason: str) -> None:
    listing = read(folder, wav_scp="a wavs/a.wav\n", segments=f"u1 a 0 1\n{segment}\n", text="u1 x\nu9 y\n")
    assert [u.id for u in listing.utterances] == ["u1"]
    found = entries(listing.faults)
    assert found[0] == ("segments:2", reason)
    assert found[1:] == ([("text:2", f"u9 has no line in {folder}/segments")] if segment.startswith("u1") else [])


def test_tables_that_disagree_are_named_by_line(folder: Path) -> None:
    wavs = "".join(f"{name} wavs/{name}.wav\n" for name in "abc")
    listing = read(folder, wav_scp=wavs, text="a x\nb\nd y\na again\nc z\n", utt2spk="a ann\nb bob\n")
    assert [(u.id, u.text) for u in listing.utterances] == [("a", "x")]
    assert entries(listing.skipped) == [("wav.scp:2", f"b has no transcript in {folder}/text")]
    assert entries(listing.faults) == [
        ("text:4", "a is already in line 1"),
        ("wav.scp:3", f"c has no speaker in {folder}/utt2spk"),
        ("text:3", f"d has no line in {folder}/wav.scp"),
    ]


@pytest.mark.parametrize("name", ["wav.scp", "text"])
def test_a_missing_table_is_named(folder: Path, name: str) -> None:
    read(folder, wav_scp="a wavs/a.wav\n", text="a x\n")
    (folder / name).unlink()
    with pytest.raises(BadCorpus, match=f"{name}: no such file"):
        read_kaldi(folder)


WORDS = st.sampled_from([b"a", b"u1", b"wavs/a.wav", b"x |", b"0", b"1.5", b"-1", b"\xff", b"\t", b"1e400", b"/", b"-"])
TABLE = st.lists(st.lists(WORDS, max_size=5).map(b" ".join), max_size=4).map(b"\n".join) | st.binary(max_size=60)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.tuples(TABLE, TABLE, TABLE, TABLE))
def test_any_bytes_are_utterances_or_named(folder: Path, tables: tuple[bytes, ...]) -> None:
    for name, content in zip(("wav.scp", "text", "segments", "utt2spk"), tables, strict=True):
        (folder / name).write_bytes(content)
    listing = read_kaldi(folder)
    for utterance in listing.utterances:
        (segment,) = utterance.segments
        assert utterance.text
        assert utterance.speaker
        assert segment.path == Path("wavs/a.wav")
        assert segment.offset_s >= 0
        assert segment.duration_s is None or segment.duration_s > 0
