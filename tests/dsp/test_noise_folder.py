import numpy as np
import pytest
import soundfile

from sonorant.dsp.noise_folder import NoiseFolder
from sonorant.errors import BadCorpus, RejectedExample


def _tone(path, frequency_hz, rate_hz, seconds, channels=1):
    wave = 0.5 * np.sin(2 * np.pi * frequency_hz * np.arange(int(rate_hz * seconds)) / rate_hz)
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.stack([wave] + [wave * 0] * (channels - 1), axis=1), rate_hz)


@pytest.mark.parametrize("seconds", [0.3, 5.0])
def test_excerpts_are_resampled_and_as_long_as_asked_for(tmp_path, seconds):
    _tone(tmp_path / "deep" / "a.flac", 440, 44100, seconds, channels=2)
    piece = NoiseFolder(tmp_path, 8000).excerpt(16_000, np.random.default_rng(0))
    assert piece.shape == (16_000,)
    assert piece.dtype == np.float32
    assert np.abs(np.fft.rfft(piece)).argmax() == pytest.approx(880, abs=3)


def test_the_same_generator_gives_the_same_excerpt_of_all_recordings(tmp_path):
    for k in range(3):
        _tone(tmp_path / f"{k}.wav", 300 + 100 * k, 16000, 2)
    one, other = (NoiseFolder(tmp_path, 8000) for _ in range(2))
    heard = set()
    for seed in range(20):
        pieces = [folder.excerpt(8000, np.random.default_rng(seed)) for folder in (one, other, one)]
        np.testing.assert_array_equal(pieces[0], pieces[1])
        np.testing.assert_array_equal(pieces[0], pieces[2])
        heard.add(int(np.abs(np.fft.rfft(pieces[0])).argmax()))
    assert len(heard) == 3


@pytest.mark.parametrize("name", ["notes.txt", "headerless.raw"])
def test_folder_without_recordings_is_refused(tmp_path, name):
    (tmp_path / name).write_text("none")
    with pytest.raises(BadCorpus, match="no noise recordings"):
        NoiseFolder(tmp_path, 8000)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"this is no audio", r"bad.wav"),
        ([], "bad.wav is empty"),
        ([0.0, np.nan, 0.0], "bad.wav has samples that are not"),
    ],
)
def test_unusable_recording_is_named(tmp_path, content, message):
    if isinstance(content, bytes):
        (tmp_path / "bad.wav").write_bytes(content)
    else:
        soundfile.write(tmp_path / "bad.wav", np.array(content, np.float32), 8000, subtype="FLOAT")
    with pytest.raises(RejectedExample, match=message):
        NoiseFolder(tmp_path, 8000).excerpt(100, np.random.default_rng(0))
