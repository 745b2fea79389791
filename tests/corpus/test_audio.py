import errno
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rigs.small_corpus import digits_recipe, tone

from sonorant.corpus import audio
from sonorant.corpus.utterance import Segment
from sonorant.errors import BadAudio, Unavailable
from sonorant.recipe.corpus import CorpusRecipe

RECIPE = digits_recipe().corpus


def read_segment(segment: Segment, recipe: CorpusRecipe) -> np.ndarray:
    return audio.read_segment(segment, recipe).waveform


def test_sixteen_bit_samples_are_read_exactly(tmp_path: Path) -> None:
    samples = np.arange(-4000, 4000, dtype=np.int16)
    soundfile.write(tmp_path / "a.wav", samples, 8000)
    np.testing.assert_array_equal(read_segment(Segment(tmp_path / "a.wav"), RECIPE), samples / 32768)


@pytest.mark.parametrize("suffix", ["flac", "ogg", "aiff", "mp3"])
def test_other_formats_are_read(tmp_path: Path, suffix: str) -> None:
    soundfile.write(tmp_path / f"a.{suffix}", tone(0.5), 8000)
    read = read_segment(Segment(tmp_path / f"a.{suffix}"), RECIPE)
    assert abs(len(read) - 4000) < 1200
    assert 0.15 < np.sqrt(np.mean(read**2)) < 0.25


def test_offset_and_duration_cut_a_stretch(tmp_path: Path) -> None:
    samples = np.linspace(-0.5, 0.5, 8000, dtype=np.float32)
    soundfile.write(tmp_path / "a.wav", samples, 8000, subtype="FLOAT")
    read = read_segment(Segment(tmp_path / "a.wav", 0.25, 0.5), RECIPE)
    np.testing.assert_array_equal(read, samples[2000:6000])


def test_duration_that_a_manifest_rounded_means_the_end(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(0.504), 8000)
    assert len(read_segment(Segment(tmp_path / "a.wav", 0.0, 0.5), RECIPE)) == 4032
    assert len(read_segment(Segment(tmp_path / "a.wav", 0.0, 0.51), RECIPE)) == 4032


def test_channel_or_mean(tmp_path: Path) -> None:
    left, right = tone(hz=300), tone(hz=900)
    soundfile.write(tmp_path / "a.wav", np.stack([left, right], axis=1), 8000, subtype="FLOAT")
    segment = Segment(tmp_path / "a.wav")
    np.testing.assert_array_equal(read_segment(segment, RECIPE.model_copy(update={"channel": 1})), right)
    mean = read_segment(segment, RECIPE.model_copy(update={"channel": "mean"}))
    np.testing.assert_allclose(mean, (left + right) / 2, atol=1e-7)
    with pytest.raises(BadAudio, match="has 2 channel"):
        read_segment(segment, RECIPE.model_copy(update={"channel": 2}))


def test_resampling_keeps_a_tone(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(0.5, 44100), 44100, subtype="FLOAT")
    read = read_segment(Segment(tmp_path / "a.wav"), RECIPE)
    assert len(read) == 4000
    np.testing.assert_allclose(read[500:-500], tone(0.5)[500:-500], atol=2e-3)


def _wav(path: Path, seconds: float = 0.5) -> bytes:
    soundfile.write(path, tone(seconds), 8000, subtype="PCM_16")
    return path.read_bytes()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut_short(path: Path) -> None:
    path.write_bytes(_wav(path)[:3000])


def _text(path: Path) -> None:
    path.write_text("this is no recording\n" * 20)


def _header_of_no_channels(path: Path) -> None:
    content = bytearray(_wav(path))
    content[22:24] = struct.pack("<H", 0)
    path.write_bytes(bytes(content))


def _header_of_absurd_rate(path: Path) -> None:
    content = bytearray(_wav(path))
    content[24:28] = struct.pack("<I", 7)
    path.write_bytes(bytes(content))


def _header_that_promises_more(path: Path) -> None:
    content = bytearray(_wav(path))
    content[4:8] = struct.pack("<I", 10**8)
    path.write_bytes(bytes(content))


def _no_samples(path: Path) -> None:
    _wav(path, 0)


def _too_short(path: Path) -> None:
    _wav(path, 0.05)


def _ten_minutes(path: Path) -> None:
    soundfile.write(path, np.zeros(8000 * 600, np.int16), 8000)


def _nan(path: Path) -> None:
    samples = tone()
    samples[17] = np.nan
    soundfile.write(path, samples, 8000, subtype="FLOAT")


def _infinite(path: Path) -> None:
    samples = tone()
    samples[3] = -np.inf
    soundfile.write(path, samples, 8000, subtype="FLOAT")


def _not_scaled(path: Path) -> None:
    soundfile.write(path, tone() * 32768, 8000, subtype="FLOAT")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_empty, "is an empty file"),
        (_cut_short, "is cut short or has a wrong header: it promises 8044 bytes and has 3000"),
        (_text, "cannot be decoded"),
        (_header_of_no_channels, "cannot be decoded"),
        (_header_of_absurd_rate, "its header gives 7 Hz"),
        (_header_that_promises_more, "wrong header: it promises 100000008 bytes"),
        (_no_samples, "holds no samples"),
        (_too_short, "is 0.050 s long; min_seconds is 0.1"),
        (_ten_minutes, "is 600.0 s long; max_seconds is 60"),
        (_nan, "sample 17 is nan"),
        (_infinite, "sample 3 is -inf"),
        (_not_scaled, r"must be in \[-1, 1\]"),
        (Path.mkdir, "no such file"),
    ],
)
def test_unusable_recording_says_why(tmp_path: Path, make, reason: str) -> None:
    path = tmp_path / "bad.wav"
    make(path)
    with pytest.raises(BadAudio, match=reason) as caught:
        read_segment(Segment(path), RECIPE)
    assert caught.value.path == str(path)


def test_flac_that_is_cut_short_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "bad.flac"
    rng = np.random.default_rng(0)
    soundfile.write(path, rng.uniform(-0.5, 0.5, 20000), 8000)
    path.write_bytes(path.read_bytes()[:20000])
    with pytest.raises(BadAudio, match=r"cut short|cannot be decoded"):
        read_segment(Segment(path), RECIPE)


def test_segment_behind_the_end_is_refused(tmp_path: Path) -> None:
    _wav(tmp_path / "a.wav")
    with pytest.raises(BadAudio, match=r"ends after 0.50 s; 0.20 to 1.20 s wanted"):
        read_segment(Segment(tmp_path / "a.wav", 0.2, 1.0), RECIPE)


def test_a_segment_that_may_overshoot_the_end_is_cut_there(tmp_path: Path) -> None:
    _wav(tmp_path / "a.wav")
    expected = read_segment(Segment(tmp_path / "a.wav", 0.2), RECIPE)
    read = read_segment(Segment(tmp_path / "a.wav", 0.2, 0.79, overshoot_s=0.5), RECIPE)
    np.testing.assert_array_equal(read, expected)
    for offset_s, duration_s in ((0.2, 0.8), (0.6, 0.2)):
        with pytest.raises(BadAudio, match=r"ends after 0\.50 s"):
            read_segment(Segment(tmp_path / "a.wav", offset_s, duration_s, overshoot_s=0.5), RECIPE)


@pytest.mark.parametrize("rate_hz", [8000, 16000])
def test_a_floating_point_recording_beyond_1_is_scaled_and_named_not_clipped(tmp_path: Path, rate_hz: int) -> None:
    path = tmp_path / "loud.wav"
    loud = tone(0.5, rate_hz) * np.float32(3.5 / 0.3)
    soundfile.write(path, loud, rate_hz, subtype="FLOAT")
    waveform, scaled = audio.read_segment(Segment(path), RECIPE)
    assert scaled is not None
    assert str(scaled).startswith(f"{path}: its samples reach 3.5; scaled to a peak of 1")
    np.testing.assert_allclose(waveform[100:-100] * 3.5, (tone(0.5) * 3.5 / 0.3)[100:-100], atol=0.03)
    soundfile.write(path, loud / 3.5, rate_hz, subtype="FLOAT")
    assert audio.read_segment(Segment(path), RECIPE).scaled is None


def test_what_a_change_of_rate_overshoots_is_not_clipped_of_a_recording_that_is_scaled(tmp_path: Path) -> None:
    path, square = tmp_path / "square.wav", np.sign(tone(0.5, 44100)) * np.float32(3)
    soundfile.write(path, square, 44100, subtype="FLOAT")
    waveform, scaled = audio.read_segment(Segment(path), RECIPE)
    assert scaled is not None
    assert scaled.peak > 3.3
    assert np.abs(waveform).max() == pytest.approx(1)
    soundfile.write(path, square / 3, 44100, subtype="FLOAT")
    assert audio.read_segment(Segment(path), RECIPE).scaled is None


def test_what_a_change_of_rate_makes_is_no_fault_of_a_recording(tmp_path: Path) -> None:
    path, recipe = tmp_path / "a.wav", RECIPE.model_copy(update={"min_seconds": 1e-5})
    soundfile.write(path, np.sign(tone(0.5, 44100)) * np.float32(3.9), 44100, subtype="FLOAT")
    assert audio.read_segment(Segment(path), RECIPE).scaled is not None
    soundfile.write(path, np.zeros(2, np.float32), 48000)
    assert len(audio.read_segment(Segment(path), recipe).waveform) <= 1


def test_what_a_lossy_codec_overshoots_is_not_the_recordings_doing(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a", np.sign(tone(0.5)), 8000, format="OGG")
    waveform, scaled = audio.read_segment(Segment(tmp_path / "a"), RECIPE)
    assert 1.01 < np.abs(waveform).max() < 1.25
    assert scaled is None


def test_what_the_machine_cannot_read_is_not_the_recordings_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.wav", "b.wav"):
        _wav(tmp_path / name)

    def fail(error: Exception) -> Callable[..., None]:
        def failing(*_: object, **__: object) -> None:
            raise error

        return failing

    monkeypatch.setattr(audio.soundfile, "SoundFile", fail(soundfile.LibsndfileError(2)))
    with pytest.raises(Unavailable, match=r"a\.wav: cannot be read: System error"):
        read_segment(Segment(tmp_path / "a.wav"), RECIPE)
    monkeypatch.setattr(audio, "shortfall", fail(OSError(errno.EIO, os.strerror(errno.EIO))))
    with pytest.raises(Unavailable, match=r"b\.wav: cannot be read: Input/output error; look at its disk"):
        read_segment(Segment(tmp_path / "b.wav"), RECIPE)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (os.mkfifo, "no such file: it is a pipe"),
        (lambda path: path.symlink_to("nothing"), "no such file: it is a link to nothing"),
        (lambda path: path.symlink_to(path.name), "no such file: its links lead round in a circle"),
    ],
)
def test_what_is_no_file_is_named_and_not_waited_for(tmp_path: Path, make, fault: str) -> None:
    make(tmp_path / "a.wav")
    with pytest.raises(BadAudio, match=f"a.wav: {fault}"):
        read_segment(Segment(tmp_path / "a.wav"), RECIPE)


def test_a_path_that_no_file_system_takes_is_the_recordings_fault(tmp_path: Path) -> None:
    for name, fault in (("x" * 5000, "its name is longer"), ("a\0.wav", "its name holds a NUL")):
        with pytest.raises(BadAudio, match=f"no such file: {fault}"):
            read_segment(Segment(tmp_path / name), RECIPE)


@pytest.mark.parametrize("name", [b"\xff.wav", b"wav.raw"])
def test_a_name_of_other_bytes_or_suffix_is_read(tmp_path: Path, name: bytes) -> None:
    _wav(tmp_path / "a.wav")
    (tmp_path / "a.wav").rename(tmp_path / os.fsdecode(name))
    assert len(read_segment(Segment(tmp_path / os.fsdecode(name)), RECIPE)) == 4000


def test_a_segments_channel_goes_before_the_recipes(tmp_path: Path) -> None:
    left, right = tone(hz=300), tone(hz=900)
    soundfile.write(tmp_path / "a.wav", np.stack([left, right], axis=1), 8000, subtype="FLOAT")
    mean = RECIPE.model_copy(update={"channel": "mean"})
    np.testing.assert_array_equal(read_segment(Segment(tmp_path / "a.wav", channel=1), mean), right)
    with pytest.raises(BadAudio, match=r"has 2 channel\(s\), so none with number 2"):
        read_segment(Segment(tmp_path / "a.wav", channel=2), mean)


def _without_count(path: Path, **quality: object) -> bytes:
    """Return an MP3 file without its first frame, which counts the others."""
    soundfile.write(path, tone(0.5, 32000), 32000, bitrate_mode="CONSTANT", **quality)
    content = path.read_bytes()
    return content[content.index(b"\xff\xfb", 1) :]


def test_a_tag_before_frames_that_nothing_counts_is_no_sound(tmp_path: Path) -> None:
    """Common Voice's MP3 files are like that: libsndfile estimates their samples from the file's size, tag included."""
    frames = _without_count(tmp_path / "a.mp3", compression_level=0.5)
    at_32_khz = RECIPE.model_copy(update={"sample_rate_hz": 32000})
    (tmp_path / "a.mp3").write_bytes(frames)
    expected = read_segment(Segment(tmp_path / "a.mp3"), at_32_khz)
    assert len(expected) == 15 * 1152
    (tmp_path / "a.mp3").write_bytes(b"ID3\x04\0\0\0\0\x07\x76" + bytes(1014) + frames)
    assert soundfile.info(tmp_path / "a.mp3").frames > len(expected)
    np.testing.assert_array_equal(read_segment(Segment(tmp_path / "a.mp3"), at_32_khz), expected)


def test_frames_are_walked_once_for_all_segments_of_a_recording(tmp_path: Path, monkeypatch) -> None:
    walked = []
    for name in ("shortfall", "mp3_samples"):
        walk = getattr(audio, name)
        monkeypatch.setattr(audio, name, lambda descriptor, walk=walk: walked.append(descriptor) or walk(descriptor))
    frames = _without_count(tmp_path / "a.mp3", compression_level=0.5)
    (tmp_path / "a.mp3").write_bytes(frames)
    for start_s in (0.0, 0.1, 0.2):
        assert len(read_segment(Segment(tmp_path / "a.mp3", start_s, 0.2), RECIPE)) == 1600
    assert len(walked) == 2
    (tmp_path / "a.mp3").write_bytes(frames[:-7])
    with pytest.raises(BadAudio, match="is cut short"):
        read_segment(Segment(tmp_path / "a.mp3", 0.0, 0.2), RECIPE)


def test_frames_of_many_sizes_that_nothing_counts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.mp3").write_bytes(_without_count(tmp_path / "a.mp3"))
    with pytest.raises(BadAudio, match=r"has 17280 samples, of which libsndfile finds [0-9]+, as no frame counts them"):
        read_segment(Segment(tmp_path / "a.mp3"), RECIPE)
