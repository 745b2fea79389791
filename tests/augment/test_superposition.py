from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from sonorant.audio.noise import pink_noise, white_noise
from sonorant.augment.noise_folder import NoiseFolder
from sonorant.augment.resources import StageResources
from sonorant.augment.superposition import (
    SuperpositionRecipe,
    band_shares,
    differs,
    reference_shares,
    superimpose,
    superposition_stage,
)
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import BadCorpus, RejectedExample
from sonorant.randomness import generator

RATE_HZ = 8000
EQUAL = np.full(5, 0.2)
SPEECH = (0.1 * np.random.default_rng(0).standard_normal(RATE_HZ)).astype(np.float32)
EXAMPLE = Example(Lineage(0, 0, 0), "u", "one", RATE_HZ, 1.0, waveform=SPEECH)


def tone(hz, seconds=1.0):
    return np.sin(2 * np.pi * hz * np.arange(round(seconds * RATE_HZ)) / RATE_HZ).astype(np.float32)


def recipe(kinds=("white", "pink"), folder="", **keys):
    noise = {"kinds": kinds, "folder": folder}
    return SuperpositionRecipe.model_validate({"stage": "superposition", "noise": noise, **keys})


def write(folder, **noises):
    folder.mkdir()
    for name, waveform in noises.items():
        soundfile.write(folder / f"{name}.wav", 0.1 * waveform, RATE_HZ, subtype="FLOAT")
    return folder


def test_octaves_of_known_sounds():
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(band_shares(pink_noise(800000, rng), RATE_HZ), EQUAL, rtol=0.05)
    wide = 2.0 ** np.arange(5)
    np.testing.assert_allclose(band_shares(white_noise(800000, rng), RATE_HZ), wide / wide.sum(), rtol=0.05)
    np.testing.assert_allclose(band_shares(tone(700), RATE_HZ), [0, 0, 1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(band_shares(tone(180) + 3 * tone(3000), RATE_HZ), [0.1, 0, 0, 0, 0.9], atol=1e-6)
    assert len(band_shares(np.ones(100), 16000)) == 6


def test_a_band_beyond_the_tolerance_fails_and_one_within_passes():
    for sign in (1, -1):
        shares = EQUAL * 10 ** (sign * np.array([0, 0, 0, 9.9, 0]) / 10)
        assert not differs(shares, EQUAL, 10)
        shares = EQUAL * 10 ** (sign * np.array([0, 0, 0, 10.1, 0]) / 10)
        assert differs(shares, EQUAL, 10)
    assert differs(np.zeros(5), EQUAL, 60), "silence is like no noise"
    assert differs(np.full(5, np.nan), EQUAL, 60)


@given(st.floats(-30, 30))
def test_the_ratio_is_the_one_asked_for(snr_db):
    speech = 0.01 * SPEECH
    mixture = superimpose(np.stack([speech, 2 * speech]), white_noise(RATE_HZ, np.random.default_rng(1)), snr_db)
    noise = mixture[0].astype(float) - speech
    assert 10 * np.log10(np.mean(speech.astype(float) ** 2) / np.mean(noise**2)) == pytest.approx(snr_db, abs=0.05)
    np.testing.assert_allclose(mixture[1] - 2 * speech, noise, atol=1e-6)


def test_silent_noise_leaves_speech_alone_and_silent_speech_is_rejected():
    np.testing.assert_array_equal(superimpose(SPEECH, np.zeros_like(SPEECH), 0), SPEECH)
    with pytest.raises(RejectedExample, match="speech is silent"):
        superimpose(np.zeros_like(SPEECH), SPEECH, 0)
    assert np.abs(superimpose(SPEECH, SPEECH, -40)).max() == pytest.approx(1)


def test_only_noises_like_the_reference_are_heard(tmp_path):
    """A hum is in the folder, and is never mixed in; hiss is, once the reference hisses."""
    rng = np.random.default_rng(0)
    write(tmp_path / "noises", hum=tone(200, 3), hiss=white_noise(24000, rng), rain=pink_noise(24000, rng))
    write(tmp_path / "real", street=white_noise(80000, rng))
    resources = StageResources(None, tmp_path)
    for reference, expected in (("", EQUAL), ("real", 2.0 ** np.arange(5) / 31)):
        stage = superposition_stage(
            recipe(("folder",), "noises", reference=reference, tolerance_db=4, noises=(1, 1)), resources, RATE_HZ
        )
        for epoch in range(10):
            noise = stage(EXAMPLE, generator(0, epoch, "u", "superposition")).waveform - SPEECH
            assert not differs(band_shares(noise, RATE_HZ), expected, 4.1)


def test_the_reference_is_the_average_of_recordings_whatever_their_level(tmp_path):
    folder = write(
        tmp_path / "real",
        low=100 * (tone(180, 8)),
        high=tone(3000, 8),
        middle=pink_noise(64000, np.random.default_rng(0)),
    )
    shares = reference_shares(NoiseFolder(folder, RATE_HZ))
    np.testing.assert_allclose(shares, [0.4, 0.0667, 0.0667, 0.0667, 0.4], atol=0.08)
    with pytest.raises(RejectedExample, match="without any sound in some octave"):
        reference_shares(NoiseFolder(write(tmp_path / "silent", nothing=np.zeros(8000)), RATE_HZ))


def test_noises_that_all_fail_reject_the_example(tmp_path):
    write(tmp_path / "noises", hum=tone(200), silence=np.zeros(8000))
    stage = superposition_stage(recipe(("folder",), "noises"), StageResources(None, tmp_path), RATE_HZ)
    with pytest.raises(
        RejectedExample, match=r"none of 32 noises has the reference's power in every octave, within 20"
    ):
        stage(EXAMPLE, np.random.default_rng(0))


def test_what_is_in_the_folders_of_noises_and_of_the_reference_is_told(tmp_path):
    """Draws depend on both, so replicas compare them."""
    hiss = white_noise(8000, np.random.default_rng(0))
    noises, real = (write(tmp_path / name, a=hiss, b=hiss) for name in ("noises", "real"))

    def told():
        resources = StageResources(None, tmp_path)
        superposition_stage(recipe(("folder",), "noises", reference="real"), resources, RATE_HZ)
        return resources.listings

    of_noises, of_reference = told()
    (real / "b.wav").unlink()
    assert [told()[0] == of_noises, told()[1] == of_reference] == [True, False]
    (noises / "b.wav").unlink()
    assert told()[0] != of_noises


def test_a_reference_that_is_not_there_is_refused_at_the_start(tmp_path):
    with pytest.raises(BadCorpus, match="streets"):
        superposition_stage(recipe(reference="streets"), StageResources(None, tmp_path), RATE_HZ)


def test_numbers_of_noises_are_checked():
    with pytest.raises(ValueError, match=r"noises=0\.\.3: need 1 <= fewest <= most <= 16"):
        recipe(noises=(0, 3))


def test_the_stage_gives_the_drawn_ratio_and_the_same_bits_for_the_same_key():
    stage = superposition_stage(recipe(snr_db={"low": 3, "high": 9}), StageResources(None, Path()), RATE_HZ)
    ratios = []
    for epoch in range(40):
        heard = stage(EXAMPLE, generator(1, epoch, "u", "superposition")).waveform
        np.testing.assert_array_equal(heard, stage(EXAMPLE, generator(1, epoch, "u", "superposition")).waveform)
        ratios.append(10 * np.log10(np.mean(SPEECH.astype(float) ** 2) / np.mean((heard - SPEECH).astype(float) ** 2)))
    assert min(ratios) >= 2.99
    assert max(ratios) <= 9.01
    assert np.std(ratios) > 1
