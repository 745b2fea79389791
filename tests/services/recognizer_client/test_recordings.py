import io
import struct

import numpy as np
import pytest
import soundfile

from services.recognizer_client.recordings import read_recording
from sonorant.errors import BadAudio


@pytest.mark.parametrize("value", [3e38, np.nan, -np.inf])
def test_samples_that_are_not_finite_or_overflow_as_they_are_averaged_are_bad_audio(tmp_path, value):
    soundfile.write(tmp_path / "loud.wav", np.full((100, 2), value, np.float32), 8000, subtype="FLOAT")
    with pytest.raises(BadAudio, match=r"loud\.wav: samples that are not finite, alone or averaged"):
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
