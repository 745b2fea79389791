import io
import struct

import numpy as np
import pytest
import soundfile
from rigs.encoded import encoded

from services.recognizer_client.recordings import read_recording
from sonorant.errors import BadAudio


@pytest.mark.parametrize("value", [3e38, np.nan, -np.inf])
def test_samples_that_are_not_finite_or_overflow_as_they_are_averaged_are_bad_audio(tmp_path, value):
    soundfile.write(tmp_path / "loud.wav", np.full((100, 2), value, np.float32), 8000, subtype="FLOAT")
    with pytest.raises(BadAudio, match=r"loud\.wav: samples that are not finite, alone or averaged"):
        read_recording(tmp_path / "loud.wav", 8000)


def test_floats_of_the_scale_of_integers_are_bad_audio(tmp_path):
    soundfile.write(tmp_path / "loud.wav", np.full(100, 5000, np.float32), 8000, subtype="FLOAT")
    with pytest.raises(BadAudio, match=r"loud\.wav: samples reach 5000; "):
        read_recording(tmp_path / "loud.wav", 8000)


RAMP = np.linspace(-0.5, 0.5, 800)


def container(form, *places, samples=RAMP, subtype="PCM_16", length=0):
    """A file of libsndfile's at 8 kHz with another length in the four bytes at a place, or behind a chunk's name."""
    file = io.BytesIO()
    soundfile.write(file, samples, 8000, format=form, subtype=subtype)
    content = bytearray(file.getvalue())
    for place in places:
        at = place if isinstance(place, int) else content.index(place) + 4
        struct.pack_into("<I", content, at, length)
    return bytes(content)


@pytest.mark.parametrize("length", [0, 0xFFFFFFFF])
@pytest.mark.parametrize("riff_too", [False, True])
@pytest.mark.parametrize(
    ("subtype", "form"), [("PCM_16", "WAV"), ("FLOAT", "WAV"), ("ULAW", "WAV"), ("PCM_24", "WAVEX")]
)
def test_a_wav_file_without_a_length_is_read_to_its_end(tmp_path, length, riff_too, subtype, form):
    stereo = np.random.default_rng(1).uniform(-0.5, 0.5, (800, 2)).astype(np.float32)
    (tmp_path / "whole.wav").write_bytes(container(form, samples=stereo, subtype=subtype))
    places = [b"data", 4] if riff_too else [b"data"]
    killed = container(form, *places, samples=stereo, subtype=subtype, length=length)
    (tmp_path / "killed.wav").write_bytes(killed)
    expected = read_recording(tmp_path / "whole.wav", 16_000)
    assert len(expected) == 1600
    np.testing.assert_allclose(read_recording(tmp_path / "killed.wav", 16_000), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (container("WAV", b"data")[:44], "is cut short"),
        (container("WAV", b"data", 4)[:44], "holds no samples"),
        (container("WAV", samples=np.zeros(0)), "holds no samples"),
        (container("AIFF", samples=np.zeros(0)), "holds no samples"),
        (container("AU", 8), "its header counts none"),
        (container("WAV", b"data", subtype="MS_ADPCM"), "format 2 with 4 bits: expected PCM"),
    ],
)
def test_a_recording_that_has_no_samples_is_never_an_empty_text(tmp_path, content, reason):
    (tmp_path / "empty").write_bytes(content)
    with pytest.raises(BadAudio, match=f"empty: .*{reason}"):
        read_recording(tmp_path / "empty", 8000)


@pytest.mark.parametrize("rate_hz", [16_000, 8000])
def test_an_mp3_file_with_more_behind_its_frames_is_read_and_nothing_is_said_of_it(tmp_path, capfd, rate_hz):
    content = encoded("MP3", np.random.default_rng(1).uniform(-0.5, 0.5, 16_000).astype(np.float32), 16_000)
    for name, more in (("plain.mp3", b""), ("more.mp3", bytes(5000))):
        (tmp_path / name).write_bytes(content + more)
    found = read_recording(tmp_path / "more.mp3", rate_hz)
    assert capfd.readouterr() == ("", "")
    assert len(found) == rate_hz
    np.testing.assert_array_equal(found, read_recording(tmp_path / "plain.mp3", rate_hz))
    if rate_hz == 16_000:
        np.testing.assert_allclose(found, soundfile.read(tmp_path / "plain.mp3")[0], rtol=0, atol=1e-5)


def test_an_mp3_file_that_has_lost_bytes_is_named(tmp_path, capfd):
    content = encoded("MP3", np.random.default_rng(1).uniform(-0.5, 0.5, 48_000).astype(np.float32), 16_000)
    (tmp_path / "lost.mp3").write_bytes(content[:5000] + content[5100:] + bytes(100))
    with pytest.raises(BadAudio, match=r"lost\.mp3: MP3: damaged"):
        read_recording(tmp_path / "lost.mp3", 16_000)
    assert capfd.readouterr() == ("", "")


def test_mpeg_audio_of_layer_2_is_read_by_soundfile(tmp_path):
    samples = np.random.default_rng(1).uniform(-0.5, 0.5, 16_000).astype(np.float32)
    (tmp_path / "a.mp2").write_bytes(encoded("MP2", samples, 16_000))
    found = read_recording(tmp_path / "a.mp2", 16_000)
    np.testing.assert_array_equal(found, soundfile.read(tmp_path / "a.mp2", dtype="float32")[0])
    assert len(found) >= 16_000


def with_total(path, total):
    """Let a FLAC file's header count so many samples."""
    content = bytearray(path.read_bytes())
    place = slice(21, 26)  # in STREAMINFO, RFC 9639, section 8.2
    others = int.from_bytes(content[place]) >> 36 << 36
    content[place] = (others | total).to_bytes(5)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("total", "reason"),
    [
        ((1 << 36) - 1, "more than 24 h of audio; cut it"),
        (86_400 * 192_000, "16588800000 samples of 8 channels by its header: more than memory holds"),
    ],
)
def test_a_header_that_counts_more_samples_than_memory_holds_is_bad_audio(tmp_path, total, reason):
    path = tmp_path / "said.flac"
    soundfile.write(path, np.tile(RAMP[:, None], 8), 192_000)
    with_total(path, total)
    with pytest.raises(BadAudio, match=rf"said\.flac: {reason}"):
        read_recording(path, 8000)


def test_a_flac_file_without_a_total_is_read_to_its_end(tmp_path):
    path = tmp_path / "piped.flac"
    soundfile.write(path, RAMP, 8000)
    whole = read_recording(path, 8000)
    with_total(path, 0)
    np.testing.assert_array_equal(read_recording(path, 8000), whole)


def test_more_than_a_day_is_refused(tmp_path):
    soundfile.write(tmp_path / "slow.wav", np.zeros(86_401), 1, subtype="PCM_U8")
    with pytest.raises(BadAudio, match=r"slow\.wav: more than 24 h of audio; cut it"):
        read_recording(tmp_path / "slow.wav", 8000)
