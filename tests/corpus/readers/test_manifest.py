import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonorant.corpus.readers.manifest import read_manifest
from sonorant.corpus.readers.text_lines import LONGEST_LINE_BYTES
from sonorant.errors import BadCorpus

GOOD = {"audio_filepath": "a.wav", "duration": 1, "text": "x"}


def read(folder: Path, *lines: object):
    """Read a manifest of lines: bytes as they are, text in UTF-8, anything else as JSON."""
    path = folder / "all.jsonl"
    as_text = (line if isinstance(line, bytes | str) else json.dumps(line) for line in lines)
    path.write_bytes(b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in as_text))
    return read_manifest(path)


def line_of(**values: object) -> str:
    return json.dumps(GOOD | {"id": "bad"} | values)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (line_of(duration=1e308), r"duration=1e\+308: must be a number of seconds, at most 1e\+07"),
        (line_of().replace("1,", "7" * 400 + ","), r"at most 1e\+07"),
        (line_of().replace("1,", "7" * 5000 + ","), "is not JSON that can be read: Exceeds the limit"),
        (line_of(duration=float("nan")), "duration=nan: must be a number of seconds"),
        (line_of(duration=float("inf")), "duration=inf: must be a number of seconds"),
        (line_of(duration=True), "duration=True: must be a number of seconds"),
        (line_of(duration="1"), "duration='1': must be a number of seconds"),
        (line_of(duration=None), "duration is missing"),
        (line_of(duration=-1), "duration=-1.0: must be above 0 seconds"),
        (line_of(offset=1e308), r"offset=1e\+308: must be a number of seconds, at most"),
        (line_of(offset=-0.5), "offset=-0.5: must be 0 seconds or more"),
        (line_of(offset=[]), r"offset=\[\]: must be a number"),
        (line_of(text="\ud800"), r"text='\\ud800': holds a lone surrogate"),
        (line_of(id="\udcff"), "id='.*': holds a lone surrogate"),
        (line_of(speaker="\udcff"), "speaker='.*': holds a lone surrogate"),
        (line_of(audio_filepath="\udcff.wav"), "audio_filepath='.*': holds a lone surrogate"),
        (line_of(audio_filepath="a\0.wav"), "must be the path of a recording"),
        (line_of(audio_filepath=""), "must be the path of a recording"),
        (line_of(audio_filepath="/"), "must be the path of a recording"),
        (line_of(audio_filepath="x" * 5000), "has 5[0-9]{3} bytes; a path has 4095 at most, and a name in it 255"),
        (line_of(split="validation"), "split='validation': must be train, dev or test"),
        (line_of(split=["dev"]), r"split=\['dev'\]: must be train, dev or test"),
        (line_of(id=[1]), r"id=\[1\]: must be a string or a number"),
        (line_of(id=True), "id=True: must be a string or a number"),
        (line_of(speaker=float("nan")), "speaker=nan: must be a string or a finite number"),
        (line_of(text={"a": [[[[[[[[1]]]]]]]]}), "text=.*: must be a string"),
        (line_of()[:-1] + ', "text": "y"}', "key 'text' comes twice"),
        ("[" * 100_000, "is nested too deeply"),
        (b'{"text": "\xff"}', "is not UTF-8: found byte 0xff in column 11"),
        ('{"audio_filepath": "a.w', "is not JSON: Unterminated string"),
        ("x" * (LONGEST_LINE_BYTES + 1), f"is longer than {LONGEST_LINE_BYTES} bytes"),
        ("x" * (3 * LONGEST_LINE_BYTES), f"is longer than {LONGEST_LINE_BYTES} bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_line_costs_itself_alone_and_is_named(tmp_path: Path, line: str | bytes, fault: str) -> None:
    listing = read(tmp_path, GOOD | {"id": "before"}, line, GOOD | {"id": "after"})
    assert [utterance.id for utterance in listing.utterances] == ["before", "after"]
    (found,) = listing.faults
    assert found.recording == f"{tmp_path}/all.jsonl:2"
    assert re.search(fault, found.reason)
    assert len(found.reason) < 300


def test_a_line_ends_at_a_newline_and_nowhere_else(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    listing = read(tmp_path, json.dumps(GOOD | {"text": text}, ensure_ascii=False), "", GOOD | {"id": "second"})
    assert [utterance.text for utterance in listing.utterances] == [text, "x"]
    assert not listing.faults


def test_byte_order_mark_carriage_returns_and_empty_lines_are_no_faults(tmp_path: Path) -> None:
    listing = read(tmp_path, b"\xef\xbb\xbf" + line_of(id="a").encode() + b"\r", b"\r", b"  ", line_of(id="b") + "\r")
    assert [utterance.id for utterance in listing.utterances] == ["a", "b"]
    assert not listing.faults
    assert [fault.recording[-2:] for fault in read(tmp_path, GOOD, b"\xef\xbb\xbf" + line_of().encode()).faults] == [
        ":2"
    ]


def test_null_is_as_good_as_absent_and_zero_is_a_name(tmp_path: Path) -> None:
    plain, zero = read(
        tmp_path, GOOD | {"offset": None, "id": None, "speaker": None}, GOOD | {"id": 0, "speaker": 0}
    ).utterances
    assert (plain.id, plain.speaker, plain.segments[0].offset_s) == ("a", "", 0.0)
    assert (zero.id, zero.speaker) == ("0", "0")


def test_a_line_may_say_its_split(tmp_path: Path) -> None:
    lines = [GOOD | {"id": i, "split": split} for i, split in enumerate(("train", "dev", "test", None))]
    assert [found.split for found in read(tmp_path, *lines, GOOD).utterances] == ["train", "dev", "test", None, None]


def test_of_an_id_that_comes_twice_the_first_line_counts(tmp_path: Path) -> None:
    listing = read(tmp_path, line_of(text="first"), line_of(text="second"), line_of(text="third"))
    assert [utterance.text for utterance in listing.utterances] == ["first"]
    assert [fault.reason for fault in listing.faults] == ["id 'bad' is already used in line 1"] * 2


def test_offsets_that_differ_make_names_that_differ(tmp_path: Path) -> None:
    listing = read(tmp_path, *(GOOD | {"offset": offset} for offset in (0, 0.5, 12_345.67, 12_345.71)))
    assert [utterance.id for utterance in listing.utterances] == ["a@0", "a@0.5", "a@12345.67", "a@12345.71"]


def test_a_last_line_without_its_end_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text(line_of())
    assert len(read_manifest(path).utterances) == 1
    path.write_text(line_of()[:-10])
    assert [fault.recording for fault in read_manifest(path).faults] == [f"{path}:1"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nothing")])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, make) -> None:
    make(tmp_path / "all.jsonl")
    with pytest.raises(BadCorpus, match=r"all\.jsonl: no such file: it is a (folder|pipe|link to nothing)"):
        read_manifest(tmp_path / "all.jsonl")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = ("audio_filepath", "duration", "text", "offset", "id", "speaker")
ENTRIES = st.fixed_dictionaries({}, optional={key: VALUES | st.just(GOOD.get(key)) for key in KEYS})
LINES = st.binary(max_size=60) | ENTRIES.map(lambda entry: json.dumps(entry).encode())


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=6).map(b"\n".join) | st.binary(max_size=300))
def test_any_bytes_are_utterances_or_named_faults(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(content)
    listing = read_manifest(path)
    numbers = [int(fault.recording.removeprefix(f"{path}:")) for fault in listing.faults]
    assert numbers == sorted(set(numbers))
    filled = [line for line in content.split(b"\n") if line.strip()]
    assert len(listing.utterances) + len(listing.faults) <= len(filled)
    for utterance in listing.utterances:
        (segment,) = utterance.segments
        assert segment.duration_s is not None
        assert 0 < segment.duration_s <= 1e7
        assert 0 <= segment.offset_s <= 1e7
        f"{utterance.id}{utterance.text}{utterance.speaker}".encode()
        os.fsencode(segment.path)
