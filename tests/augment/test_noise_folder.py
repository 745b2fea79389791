import os

import numpy as np
import pytest
import soundfile

from sonorant.augment import noise_folder
from sonorant.augment.gain import GainRecipe
from sonorant.augment.noise_folder import NoiseFolder, check_noise_folders
from sonorant.augment.noise_source import NoiseRecipe, NoiseSource
from sonorant.augment.resources import StageResources
from sonorant.augment.room import RoomRecipe
from sonorant.augment.superposition import SuperpositionRecipe
from sonorant.errors import BadCorpus, RejectedExample, Unavailable


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


def test_a_folder_that_is_not_there_is_the_recipes_fault(tmp_path):
    (tmp_path / "file").touch()
    os.symlink("round", tmp_path / "round")
    for name in ("none", "file", "round"):
        with pytest.raises(BadCorpus, match=f"noise folder {tmp_path / name}: no such file.*--data or SONORANT_DATA"):
            NoiseFolder(tmp_path / name, 8000)


def test_of_several_folders_the_one_that_is_not_there_is_named(tmp_path):
    (tmp_path / "noises").mkdir()
    check_noise_folders(["noises"], tmp_path)
    with pytest.raises(BadCorpus, match=f"noise folder {tmp_path}/rain: no such folder; .* --data or SONORANT_DATA"):
        check_noise_folders(["noises", "rain"], tmp_path)


def test_sections_know_their_folders():
    noise = {"kinds": ["folder"], "folder": "noises"}
    sections = (
        GainRecipe(stage="gain"),
        RoomRecipe(stage="room", noise=noise),
        SuperpositionRecipe(stage="superposition", noise=noise, reference="real"),
        SuperpositionRecipe(stage="superposition"),
    )
    assert [section.folders for section in sections] == [(), ("noises",), ("noises", "real"), ()]


def test_recordings_whose_headers_say_that_they_cannot_be_used_are_left_out_by_name(tmp_path):
    _tone(tmp_path / "good.wav", 440, 8000, 1)
    (tmp_path / "bad.wav").write_bytes(b"this is no audio")
    _tone(tmp_path / "deep" / "empty.wav", 440, 8000, 0)
    _tone(tmp_path / "short.flac", 440, 8000, 0.09)
    _tone(tmp_path / "shortest.flac", 440, 8000, 0.1)
    folder = NoiseFolder(tmp_path, 8000)
    assert [path.name for path in folder.paths] == ["good.wav", "shortest.flac"]
    bad, empty, short = folder.left_out
    assert bad.startswith(f"{tmp_path / 'bad.wav'}: is no recording: ")
    assert empty == f"{tmp_path / 'deep' / 'empty.wav'}: is too short: 0 samples at 8000 Hz; at least 0.1 s are needed"
    assert short.startswith(f"{tmp_path / 'short.flac'}: is too short: 720 samples at 8000 Hz")
    for seed in range(20):
        assert folder.excerpt(1000, np.random.default_rng(seed)).any()


def test_a_folder_of_nothing_but_unusable_recordings_is_refused(tmp_path):
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).write_bytes(b"this is no audio")
    with pytest.raises(BadCorpus, match=r"none of 2 noise recordings can be used.*a\.wav: is no recording"):
        NoiseFolder(tmp_path, 8000)


def test_what_only_decoding_finds_rejects_the_example_and_names_the_recording(tmp_path):
    samples = np.zeros(8000, np.float32)
    samples[::100] = np.nan
    soundfile.write(tmp_path / "bad.wav", samples, 8000, subtype="FLOAT")
    folder = NoiseFolder(tmp_path, 8000)
    with pytest.raises(RejectedExample, match=r"bad\.wav has samples that are not finite"):
        folder.excerpt(100, np.random.default_rng(0))


def test_a_stage_tells_what_it_leaves_out(tmp_path):
    _tone(tmp_path / "street" / "good.wav", 440, 8000, 1)
    (tmp_path / "street" / "bad.wav").write_bytes(b"this is no audio")
    resources = StageResources(None, tmp_path)
    NoiseSource(NoiseRecipe(kinds=("folder",), folder="street"), resources, 8000)
    (fault,) = resources.faults
    assert "bad.wav: is no recording" in fault


@pytest.mark.parametrize("suffix", ["wav", "flac", "au"])
def test_a_recording_that_the_machine_cannot_read_is_not_left_out_but_ends_the_replica(tmp_path, suffix):
    gone = tmp_path / f"gone.{suffix}"
    _tone(gone, 440, 8000, 1)
    folder = NoiseFolder(tmp_path, 8000)
    _tone(tmp_path / "good.wav", 440, 8000, 1)
    gone.unlink()
    with pytest.raises(Unavailable, match=rf"gone\.{suffix} cannot be read"):
        folder.excerpt(100, np.random.default_rng(0))
    os.symlink("/proc/self/mem", gone)
    with pytest.raises(Unavailable, match=rf"gone\.{suffix} cannot be read"):
        NoiseFolder(tmp_path, 8000)
    with pytest.raises(Unavailable, match=rf"gone\.{suffix} cannot be read"):
        folder.excerpt(100, np.random.default_rng(0))


def test_a_recording_that_ends_at_two_places_is_the_machines_trouble(tmp_path, monkeypatch):
    """A volume that goes away in the middle of a read gives a part of it, and no error."""
    _tone(tmp_path / "a.wav", 440, 8000, 1)
    folder, read, kept = NoiseFolder(tmp_path, 8000), noise_folder._read, [100]

    def cut(path, start, samples):
        piece, rate_hz = read(path, start, samples)
        return piece[: kept.pop() if kept else None], rate_hz

    monkeypatch.setattr(noise_folder, "_read", cut)
    with pytest.raises(Unavailable, match=r"a\.wav: two reads end at different samples"):
        folder.excerpt(4000, np.random.default_rng(0))
    assert folder.excerpt(4000, np.random.default_rng(0)).any()
    kept += [100, 100]  # cut short for good: what is there is played round and round
    assert folder.excerpt(4000, np.random.default_rng(0)).any()


def test_what_is_no_file_is_left_out_by_name_and_not_waited_for(tmp_path):
    _tone(tmp_path / "good.wav", 440, 8000, 1)
    os.symlink("nothing", tmp_path / "a.wav")
    os.symlink("b.wav", tmp_path / "b.wav")
    os.mkfifo(tmp_path / "c.wav")
    (tmp_path / "d.wav").touch()
    folder = NoiseFolder(tmp_path, 8000)
    assert [path.name for path in folder.paths] == ["good.wav"]
    link, circle, pipe, empty = folder.left_out
    assert link == f"{tmp_path}/a.wav: is no recording: no such file: it is a link to nothing"
    assert "its links lead round in a circle" in circle
    assert "it is a pipe" in pipe
    assert empty.startswith(f"{tmp_path}/d.wav: is no recording")


def test_names_that_are_not_utf_8_are_played_and_shown(tmp_path):
    for name in (b"one\xff.wav", b"two\xfe.wav"):
        path = tmp_path / os.fsdecode(name)
        _tone(tmp_path / "a.wav", 440, 8000, 1)
        (tmp_path / "a.wav").rename(path)
    path.write_bytes(b"this is no audio")
    folder = NoiseFolder(tmp_path, 8000)
    assert folder.excerpt(100, np.random.default_rng(0)).any()
    assert [fault.partition(": ")[0] for fault in folder.left_out] == [f"{tmp_path}/two\\udcfe.wav"]


def test_a_folder_with_the_name_of_a_recording_is_none(tmp_path):
    (tmp_path / "a.wav").mkdir()
    _tone(tmp_path / "a.wav" / "good.wav", 440, 8000, 1)
    folder = NoiseFolder(tmp_path, 8000)
    assert [path.name for path in folder.paths] == ["good.wav"]
    assert "a.wav: is no recording" in folder.left_out[0]
