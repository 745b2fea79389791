"""Files that are cut short, in every container that is taken: libsndfile writes them, headers of streams by hand."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rigs.small_corpus import digits_recipe

from sonorant.corpus.audio import read_segment
from sonorant.corpus.containers import VERIFIABLE, shortfall
from sonorant.corpus.utterance import Segment
from sonorant.errors import BadAudio

RECIPE = digits_recipe().corpus
SAMPLES = (0.3 * np.sin(np.arange(16000) * 0.3) + 0.05 * np.random.default_rng(0).standard_normal(16000)).clip(-1, 1)
LARGEST = 0xFFFFFFFF
NO_SEEKING = ("DWVW_12", "DWVW_16", "DWVW_24")  # libsndfile writes it and cannot read it


def _written() -> list[tuple[str, str]]:
    return [
        (form, kind)
        for form in sorted(VERIFIABLE)
        for kind in soundfile.available_subtypes(form)
        if kind not in NO_SEEKING
    ]


def write(path: Path, form: str, kind: str | None = None, samples: np.ndarray = SAMPLES) -> bytes:
    try:
        soundfile.write(path, samples, 8000, format=form, subtype=kind)
    except soundfile.LibsndfileError as error:
        pytest.skip(f"libsndfile does not write it: {error}")
    return path.read_bytes()


@pytest.mark.parametrize(("form", "kind"), _written())
def test_a_whole_file_is_taken_and_a_cut_one_refused(tmp_path: Path, form: str, kind: str) -> None:
    path = tmp_path / "a"
    content = write(path, form, kind)
    assert 15000 < len(read_segment(Segment(path), RECIPE).waveform) < 17300
    for kept in (len(content) - 5, len(content) * 2 // 3, len(content) // 3, 60):
        path.write_bytes(content[:kept])
        with pytest.raises(BadAudio, match=r"cut short|cannot be decoded") as caught:
            read_segment(Segment(path), RECIPE)
        assert caught.value.path == str(path)


@pytest.mark.parametrize("form", ["OGG", "FLAC", "AIFF", "AU", "CAF", "W64", "WAV", "RF64", "NIST"])
def test_a_single_byte_that_is_missing_is_noticed(tmp_path: Path, form: str) -> None:
    content = write(tmp_path / "a", form)
    (tmp_path / "a").write_bytes(content[:-1])
    with pytest.raises(BadAudio, match=r"cut short|cannot be decoded"):
        read_segment(Segment(tmp_path / "a"), RECIPE)


@pytest.mark.parametrize("kind", ["VORBIS", "OPUS"])
def test_ogg_without_its_last_pages_is_cut_short_even_between_two(tmp_path: Path, kind: str) -> None:
    content = write(tmp_path / "a", "OGG", kind, np.tile(SAMPLES, 10))
    last = content.rindex(b"OggS")
    (tmp_path / "a").write_bytes(content[:last])
    with pytest.raises(BadAudio, match=r"is cut short: of its 1 Ogg bitstream\(s\), 1 have no last page"):
        read_segment(Segment(tmp_path / "a"), RECIPE)
    (tmp_path / "a").write_bytes(content + b"TAG of some player")
    assert len(read_segment(Segment(tmp_path / "a"), RECIPE).waveform) > 150_000


@pytest.mark.parametrize("size", [0, 0x7FFFFFFF, 0x7FFFF000, 0x80000000, LARGEST, LARGEST - 0x24])
def test_sizes_of_a_wav_that_was_written_into_a_pipe_are_unknown(tmp_path: Path, size: int) -> None:
    content = bytearray(write(tmp_path / "a", "WAV", "PCM_16"))
    content[4:8] = content[40:44] = struct.pack("<I", size)
    (tmp_path / "a").write_bytes(content)
    with (tmp_path / "a").open("rb") as file:
        assert shortfall(file.fileno()) is None
    content[4:8] = struct.pack("<I", 32036)  # what a program writes that mends one of the two sizes
    (tmp_path / "a").write_bytes(content)
    with (tmp_path / "a").open("rb") as file:
        assert shortfall(file.fileno()) is None


def test_rf64_that_was_written_as_a_stream_ends_where_it_ends(tmp_path: Path) -> None:
    content = bytearray(write(tmp_path / "a", "RF64", "PCM_16"))
    for unknown in (0, (1 << 64) - 1):
        content[20:36] = struct.pack("<QQ", unknown, unknown)
        (tmp_path / "a").write_bytes(content)
        with (tmp_path / "a").open("rb") as file:
            assert shortfall(file.fileno()) is None


def test_au_of_unknown_size_ends_where_it_ends(tmp_path: Path) -> None:
    content = bytearray(write(tmp_path / "a", "AU", "PCM_16"))
    content[8:12] = struct.pack(">I", LARGEST)
    (tmp_path / "a").write_bytes(content[:20_024])
    assert len(read_segment(Segment(tmp_path / "a"), RECIPE).waveform) == 10_000


def test_a_wav_whose_data_is_cut_but_not_its_outer_size_is_noticed(tmp_path: Path) -> None:
    content = bytearray(write(tmp_path / "a", "WAV", "PCM_16"))[:20_044]
    content[4:8] = struct.pack("<I", 20_036)
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(BadAudio, match="it promises 32044 bytes and has 20044"):
        read_segment(Segment(tmp_path / "a"), RECIPE)


def test_mp3_without_a_count_of_frames_is_walked(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a", SAMPLES, 8000, format="MP3", bitrate_mode="CONSTANT")
    counted = (tmp_path / "a").read_bytes()
    plain = counted.replace(b"Info", bytes(4)).replace(b"Xing", bytes(4))
    assert plain != counted
    plain = b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + plain
    (tmp_path / "a").write_bytes(plain)
    with (tmp_path / "a").open("rb") as file:
        assert shortfall(file.fileno()) is None
    (tmp_path / "a").write_bytes(plain[:-20])
    with pytest.raises(BadAudio, match="is cut short or has a wrong header: it promises"):
        read_segment(Segment(tmp_path / "a"), RECIPE)


@pytest.mark.parametrize("form", ["PAF", "IRCAM", "MAT5"])
def test_formats_that_do_not_tell_their_end_are_refused_by_name(tmp_path: Path, form: str) -> None:
    write(tmp_path / "a", form)
    with pytest.raises(BadAudio, match=f"is in format {form}, whose end has no mark; convert it to FLAC"):
        read_segment(Segment(tmp_path / "a"), RECIPE)


def test_real_recordings_are_whole(data_folder: Path) -> None:
    found = [
        path for suffix in ("opus", "mp3", "flac", "wav") for path in sorted(data_folder.rglob(f"*.{suffix}"))[::40]
    ]
    assert found
    for path in found:
        with path.open("rb") as file:
            assert shortfall(file.fileno()) is None, path


HEADS = (b"", b"OggS", b"ID3", b"\xff\xfb\x90", b"RIFF    WAVE", b"RF64    WAVEds64", b"FORM    AIFF", b"caff\0\1\0\0")
HEADS += (b".snd", b"NIST_1A\n   1024\n", bytes.fromhex("726966662E91CF11A5D628DB04C10000"))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(HEADS), st.binary(max_size=200))
def test_any_bytes_are_whole_or_not(tmp_path: Path, head: bytes, rest: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(head + rest)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fault = shortfall(descriptor)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) == 0
    finally:
        os.close(descriptor)
    assert fault is None or "cut short" in fault
