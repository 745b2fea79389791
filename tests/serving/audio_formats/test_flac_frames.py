"""Damage to FLAC never loses a frame unseen: the samples are all there, or it is an error that names the place."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rigs.encoded import encoded, written

from sonorant.errors import BadAudio
from sonorant.serving.audio_formats import AudioFormat, flac_frames, open_decoder
from sonorant.serving.audio_formats.flac_header import coded, read_header

RATE_HZ = 8000
FRAME = 4096  # samples, of libsndfile's frames
HEADERS = 86  # bytes of libsndfile's metadata
PCM = (np.random.default_rng(0).standard_normal(4 * FRAME + 1300) * 3000).astype(np.int16)
SAMPLES = PCM / np.float32(32768)
WHOLE = written(PCM, RATE_HZ, "FLAC", "PCM_16")


def decoded(data, cuts=()):
    decoder = open_decoder(AudioFormat("FLAC"), RATE_HZ, 60.0)
    parts = [decoder.push(data[a:b]) for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return np.concatenate([*parts, decoder.finish()])


def checksum(data, polynomial, bits):
    """Return the checksum of bytes, most significant bit first, bit by bit."""
    value = 0
    for byte in data:
        value ^= byte << bits - 8
        for _ in range(8):
            value = value << 1 ^ (polynomial if value >> bits - 1 else 0)
            value &= (1 << bits) - 1
    return value.to_bytes(bits // 8, "big")


def starts_of(data):
    """Return where frames begin."""
    return [at for at in range(42, len(data)) if read_header(data[at : at + 16])]


def numbered_by_sample(data):
    """Return the same file with a variable block size, whose frames have the number of their first sample."""
    starts = starts_of(data)
    changed = []
    for number, (begin, end) in enumerate(pairwise([*starts, len(data)])):
        frame = data[begin:end]
        digits = chr(number * FRAME).encode()
        size = 2 if frame[2] >> 4 == 7 else 0
        header = b"\xff\xf9" + frame[2:4] + digits + frame[5 : 5 + size]
        header += checksum(header, 0x107, 8)
        body = header + frame[6 + size : -2]
        changed.append(body + checksum(body, 0x18005, 16))
    least = min(map(len, changed)).to_bytes(3, "big")
    return b"".join([data[:12], least, data[15 : starts[0]], *changed])


def without_total(data):
    """Return the same file as a writer leaves it that cannot go back: the number of samples is 0, which is unknown."""
    return data[:21] + bytes([data[21] & 0xF0]) + bytes(4) + data[26:]


def flipped(data, place, bit):
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


FILES = {
    "fixed block size": WHOLE,
    "variable block size": numbered_by_sample(WHOLE),
    "unknown total": without_total(WHOLE),
    "by libavformat": encoded("FLAC", SAMPLES * (32768 / 32767), RATE_HZ),
}


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
@given(data=st.data())
def test_every_kind_of_stream_has_its_samples_wherever_it_is_cut(file, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(file)), max_size=20)))
    np.testing.assert_array_equal(decoded(file, cuts), SAMPLES)


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_a_flipped_bit_is_named_with_its_place_or_changes_no_sample(file):
    end = starts_of(file)[-1] if file == FILES["unknown total"] else len(file)
    for place in range(42, end, 61):
        try:
            found = decoded(flipped(file, place, place % 8))
        except BadAudio as error:
            if place >= 2 * HEADERS:  # in a frame
                said = float(str(error).removeprefix("audio: FLAC: damaged at ").partition(" s: ")[0])
                assert abs(said - place / len(file) * len(SAMPLES) / RATE_HZ) < 2 * FRAME / RATE_HZ
        else:
            np.testing.assert_array_equal(found, SAMPLES)


def test_a_long_file_is_read_no_farther_than_to_a_frame_that_is_missing():
    file = written(np.tile(PCM, 8), RATE_HZ, "FLAC", "PCM_16")
    starts = starts_of(file)
    decoder = open_decoder(AudioFormat("FLAC"), RATE_HZ, 60.0)
    with pytest.raises(BadAudio, match=r"FLAC: damaged at 1\.02 s: no frame begins there"):
        decoder.push(file[: starts[2]] + file[starts[3] :])


def test_the_search_for_a_next_frame_ends_however_much_has_come(monkeypatch):
    looks = []
    monkeypatch.setattr(flac_frames, "read_header", lambda data: looks.append(data) or read_header(data))
    marks = b"\xff\xf8" * 2**18
    with pytest.raises(BadAudio, match=r"FLAC: damaged at 0\.51 s: no frame begins there"):
        decoded(WHOLE[: starts_of(WHOLE)[1]] + marks)
    assert len(looks) < 4 * FRAME


def test_samples_that_look_like_the_beginning_of_frames_cost_no_look_each(monkeypatch):
    looks = []
    monkeypatch.setattr(flac_frames, "read_header", lambda data: looks.append(data) or read_header(data))
    first = starts_of(WHOLE)[0]
    frames = []
    for number in range(3):
        header = WHOLE[first : first + 4] + bytes([number])
        body = header + checksum(header, 0x107, 8) + b"\x02" + b"\xff\xf8" * FRAME  # verbatim samples
        frames.append(body + checksum(body, 0x18005, 16))
    np.testing.assert_array_equal(decoded(WHOLE[:first] + b"".join(frames)), [-8 / 32768] * (3 * FRAME))
    assert len(looks) < 10


@given(number=st.integers(0, 2**36 - 1))
def test_the_number_of_a_frame_is_coded_as_it_is_read(number):
    header = b"\xff\xf9\xc9\x08" + coded(number)
    assert read_header(header + checksum(header, 0x107, 8)).number == number


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_no_bit_of_a_frames_header_is_flipped_unseen(file):
    first, *_, last = starts_of(file)
    for header in (first, last):
        for place in range(header, header + 5):
            for bit in range(8):
                with pytest.raises(BadAudio, match=r"FLAC: damaged at [02]\.\d\d s: "):
                    decoded(flipped(file, place, bit))


@given(data=st.data())
def test_a_flipped_bit_is_the_same_error_however_the_bytes_come(data):
    place = data.draw(st.integers(HEADERS, len(WHOLE) - 1))
    file = flipped(WHOLE, place, data.draw(st.integers(0, 7)))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(file)), max_size=20)))
    with pytest.raises(BadAudio) as whole:
        decoded(file)
    with pytest.raises(BadAudio) as cut:
        decoded(file, cuts)
    assert str(cut.value) == str(whole.value)


@pytest.mark.parametrize("missing", [1, 2, 3])
@pytest.mark.parametrize("make", [lambda file: file, numbered_by_sample])
def test_a_frame_that_is_missing_is_an_error_that_names_the_place(missing, make):
    file = make(WHOLE)
    starts = starts_of(file)
    with pytest.raises(BadAudio, match=f"FLAC: damaged at {missing * FRAME / RATE_HZ:.2f} s: no frame begins there"):
        decoded(file[: starts[missing]] + file[starts[missing + 1] :])


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_of_a_file_that_is_cut_off_all_whole_frames_are_there(file):
    starts = starts_of(file)
    block = read_header(file[starts[0] : starts[0] + 16]).samples
    for end in [*range(starts[0], len(file), 97), *range(starts[2] - 3, starts[2] + 16), len(file) - 1]:
        whole = sum(start <= end for start in starts[1:])
        np.testing.assert_array_equal(decoded(file[:end]), SAMPLES[: whole * block])


PAUSE_FIRST = np.concatenate([np.zeros(4 * FRAME, np.int16), np.tile(PCM, 3)])[: 14 * FRAME - 99]


@pytest.mark.parametrize("missing", [1, 2, 3, 10, 1000, 5000])
def test_a_last_frame_that_is_cut_off_is_left_out_though_others_are_shorter(missing):
    file = written(PAUSE_FIRST, RATE_HZ, "FLAC", "PCM_16")
    np.testing.assert_array_equal(decoded(file[:-missing]), PAUSE_FIRST[: 13 * FRAME] / np.float32(32768))


def test_a_last_frame_of_full_length_whose_checksum_is_wrong_is_damaged_though_others_are_shorter():
    file = written(PAUSE_FIRST, RATE_HZ, "FLAC", "PCM_16")
    with pytest.raises(BadAudio, match=r"FLAC: damaged at 6\.66 s: a last frame whose checksum is wrong"):
        decoded(flipped(file, len(file) - 1, 0))


def test_silent_frames_which_are_shorter_than_a_header_may_be_are_not_lost_unseen():
    file = written(np.zeros(3 * FRAME, np.int16), RATE_HZ, "FLAC", "PCM_16")
    assert len(decoded(file)) == 3 * FRAME
    for place in range(HEADERS, len(file)):
        for bit in range(8):
            with pytest.raises(BadAudio, match="FLAC: damaged at "):
                decoded(flipped(file, place, bit))


ID3 = b"TAG" + bytes(125)


def ape(has_header):
    """Return an APE tag (version 2) of 40 bytes of items."""
    said = b"APETAGEX" + b"".join(n.to_bytes(4, "little") for n in (2000, 72, 1, has_header << 31)) + bytes(8)
    return said * has_header + bytes(40) + said


BEHIND = {
    "ID3v1": ID3,
    "APE": ape(False),
    "APE with a header, ID3v1": ape(True) + ID3,
}
PADDING = {
    "a line's end": b"\n",
    "zeros": bytes(4000),
    "more than a frame": bytes(100_000),
    "marks": b"\xff\xf8" * 50_000,
}


@pytest.mark.parametrize("behind", (BEHIND | PADDING).values(), ids=BEHIND | PADDING)
@given(data=st.data())
def test_what_stands_behind_the_last_frame_is_no_audio(behind, data):
    file = WHOLE + behind
    cuts = sorted(data.draw(st.sets(st.integers(0, len(file)), max_size=20)))
    np.testing.assert_array_equal(decoded(file, cuts), SAMPLES)


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_tags_are_no_audio_where_the_total_is_unknown(behind):
    np.testing.assert_array_equal(decoded(without_total(WHOLE) + behind), SAMPLES)


@pytest.mark.parametrize("behind", (BEHIND | PADDING).values(), ids=BEHIND | PADDING)
def test_what_stands_behind_the_last_frame_hides_no_frame_that_is_missing(behind):
    with pytest.raises(BadAudio, match=r"FLAC: damaged at 2\.05 s: "):
        decoded(WHOLE[: starts_of(WHOLE)[-1]] + behind)


def test_metadata_that_reaches_over_the_end_is_no_empty_recording():
    with pytest.raises(BadAudio, match="FLAC: cut off in its header"):
        decoded(flipped(WHOLE, 43, 7))  # the length of the second block
