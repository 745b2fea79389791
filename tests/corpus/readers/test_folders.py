"""The readers of folders: what lies there may have any name and be of any kind."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rigs.small_corpus import digits_recipe, write_digits

from sonorant.corpus.readers import list_corpus
from sonorant.corpus.readers.librispeech import read_librispeech
from sonorant.errors import BadCorpus
from sonorant.recipe.corpus import CorpusRecipe

LIBRISPEECH = CorpusRecipe(reader="librispeech", path="speech")


@pytest.fixture
def chapter(tmp_path: Path) -> Path:
    folder = tmp_path / "speech" / "84" / "121123"
    folder.mkdir(parents=True)
    (folder / "84-0.flac").touch()
    (folder / "84-1.flac").touch()
    return folder


def test_recordings_of_other_names_and_kinds_cost_themselves_alone(tmp_path: Path) -> None:
    digits = write_digits(tmp_path) / "digits"
    (digits / os.fsdecode(b"3_\xff_1.wav")).touch()
    (digits / "below.wav").mkdir()
    (digits / "below.wav" / "1_eve_1.wav").touch()
    (digits / "round.wav").symlink_to("round.wav")
    listing = list_corpus(digits_recipe().corpus, tmp_path)
    assert len(listing.utterances) == 241
    reasons = {Path(entry.recording).name: entry.reason for entry in listing.skipped}
    assert set(reasons) == {"below.wav", "round.wav", "3_\\udcff_1.wav"}
    assert reasons["3_\\udcff_1.wav"] == "its name is not UTF-8; rename it"
    assert not listing.faults


def test_a_bad_line_of_a_transcript_costs_itself_alone(tmp_path: Path, chapter: Path) -> None:
    lines = [
        b"84-0 go on",
        b"84-1 caf\xe9",
        b"../84-1 x",
        b"a\0b x",
        b"x" * 2_000_000,
        b"n" * 300 + b" long",
        b"\r",
        b"",
    ]
    (chapter / "84.trans.txt").write_bytes(b"\n".join(lines))
    with pytest.raises(BadCorpus, match=r"84\.trans\.txt:2: is not UTF-8: found byte 0xe9(.|\n)*4 fault\(s\)"):
        list_corpus(LIBRISPEECH, tmp_path)
    listing = list_corpus(LIBRISPEECH, tmp_path, lenient=True)
    assert [utterance.id for utterance in listing.utterances] == ["84-0"]
    assert [fault.recording.rpartition(":")[2] for fault in listing.faults] == ["2", "3", "4", "5"]
    (skipped,) = listing.skipped
    assert skipped.reason == "no such file: its name is longer than the file system takes, and 84.trans.txt names it"


def test_a_transcript_splits_at_newlines_only(tmp_path: Path, chapter: Path) -> None:
    (chapter / "84.trans.txt").write_text("84-0 one\u2028two\r\n84-1 three\n", encoding="utf-8", newline="")
    assert [utterance.text for utterance in list_corpus(LIBRISPEECH, tmp_path).utterances] == ["one\u2028two", "three"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nothing")])
def test_a_transcript_that_is_no_file_is_a_fault_of_its_own(tmp_path: Path, chapter: Path, make) -> None:
    (chapter / "84.trans.txt").write_text("84-0 one\n")
    make(chapter / "85.trans.txt")
    (fault,) = list_corpus(LIBRISPEECH, tmp_path, lenient=True).faults
    assert fault.recording == str(chapter / "85.trans.txt")
    assert fault.reason.startswith("no such file: it is a ")


def test_recordings_that_are_no_files_are_skipped(tmp_path: Path, chapter: Path) -> None:
    os.mkfifo(chapter / "84-2.flac")
    (chapter / "84-3.flac").symlink_to("84-3.flac")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(chapter / "84-4.flac"))
    (chapter / "84.trans.txt").write_text("".join(f"84-{i} one\n" for i in range(6)))
    listing = list_corpus(LIBRISPEECH, tmp_path)
    assert [utterance.id for utterance in listing.utterances] == ["84-0", "84-1"]
    assert [entry.reason.removesuffix(", and 84.trans.txt names it") for entry in listing.skipped] == [
        "no such file: it is a pipe",
        "no such file: its links lead round in a circle",
        "no such file: it is a socket",
        "is missing",
    ]


def test_of_a_name_that_two_folders_have_the_first_is_taken(tmp_path: Path) -> None:
    digits = write_digits(tmp_path) / "digits"
    (digits / "more").mkdir()
    (digits / "more" / "3_bob_2.wav").touch()
    listing = list_corpus(digits_recipe().corpus, tmp_path, lenient=True)
    assert len(listing.utterances) == 240
    assert [fault.recording for fault in listing.faults] == [str(digits / "more" / "3_bob_2.wav")]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40) | st.just(b"84-0 one"), max_size=5).map(b"\n".join))
def test_any_bytes_of_a_transcript_are_utterances_or_named(chapter: Path, content: bytes) -> None:
    (chapter / "84.trans.txt").write_bytes(content)
    listing = read_librispeech(chapter)
    filled = [line for line in content.split(b"\n") if line.strip()]
    assert len(listing.utterances) + len(listing.skipped) + len(listing.faults) <= len(filled)
    for utterance in listing.utterances:
        assert utterance.id in ("84-0", "84-1")
