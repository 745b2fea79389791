import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import fftconvolve

from sonorant.audio.mixing import block_length, mix
from sonorant.errors import RejectedExample

RNG = np.random.default_rng(0)
SPEECH = (0.05 * RNG.standard_normal(8000)).astype(np.float32)
NOISES = RNG.standard_normal((2, 8899)).astype(np.float32)  # as many taps, less one, before the speech
RESPONSES = (RNG.standard_normal((3, 2, 900)) * np.exp(-np.arange(900) / 150)).astype(np.float32)


def _level_db(waveform):
    return 10 * np.log10(np.mean(np.square(waveform, dtype=float)))


@settings(max_examples=30)
@given(st.floats(-10, 40), st.integers(1, 2))
def test_snr_at_the_first_microphone_is_the_one_asked_for(snr_db, noises):
    mixture = mix(SPEECH, NOISES[:noises], RESPONSES[: 1 + noises], snr_db, 20)
    assert _level_db(mixture.speech[0]) - _level_db(mixture.noise[0]) == pytest.approx(snr_db, abs=0.01)
    np.testing.assert_allclose(mixture.waveform, mixture.speech + mixture.noise, atol=1e-6)


@pytest.mark.parametrize("early_taps", [21, 60, 400, 5000])
@pytest.mark.parametrize("samples", [500, 8000, 60_000])
def test_snr_counts_what_the_early_taps_give(early_taps, samples):
    speech, noises = np.cumsum(np.resize(SPEECH, samples)), np.resize(NOISES, (2, samples + 899))  # far from white
    mixture = mix(speech, noises, RESPONSES, 7, 20, early_taps)
    early, whole = (fftconvolve(speech.astype(float), h) for h in (RESPONSES[0, 0][:early_taps], RESPONSES[0, 0]))
    early_db = _level_db(mixture.speech[0]) + 10 * np.log10((early**2).sum() / (whole[20:][:samples] ** 2).sum())
    assert early_db - _level_db(mixture.noise[0]) == pytest.approx(7, abs=0.001)


def test_early_taps_change_the_noise_alone():
    reverberant, early = (mix(SPEECH, NOISES, RESPONSES, 7, 20, taps) for taps in (None, 60))
    np.testing.assert_allclose(early.speech, reverberant.speech, atol=1e-6)
    assert _level_db(early.noise) < _level_db(reverberant.noise) - 1


@pytest.mark.parametrize("sources", [1, 2, 4])
@pytest.mark.parametrize("samples", [1, 900, 30_000, 200_000])
def test_the_block_is_even_and_holds_the_response(samples, sources):
    for taps in (1, 2, 81, 900, 9681, 60_000):
        block = block_length(samples, taps, sources, sources + 1, 3)
        assert block % 2 == 0
        assert block >= taps


def test_reverberant_speech_keeps_the_power_of_dry_speech():
    assert _level_db(mix(SPEECH, NOISES, RESPONSES, 20, 20).speech[0]) == pytest.approx(_level_db(SPEECH), abs=0.001)


def test_images_are_the_sources_convolved_with_their_responses():
    mixture = mix(SPEECH, NOISES, RESPONSES, 10, 20)
    for m in range(2):
        speech = fftconvolve(SPEECH.astype(float), RESPONSES[0, m])[20:8020]
        noise = sum(fftconvolve(NOISES[n].astype(float), RESPONSES[1 + n, m], "valid") for n in range(2))
        for found, expected in ((mixture.speech[m], speech), (mixture.noise[m], noise)):
            correlation = found.astype(float) @ expected / np.linalg.norm(found) / np.linalg.norm(expected)
            assert correlation > 1 - 1e-7
    ratio = np.linalg.norm(mixture.speech[1]) / np.linalg.norm(mixture.speech[0])
    expected = [np.linalg.norm(fftconvolve(SPEECH.astype(float), RESPONSES[0, m])[20:8020]) for m in range(2)]
    assert ratio == pytest.approx(expected[1] / expected[0], rel=1e-5)


@pytest.mark.parametrize("samples", [1, 700, 8000, 60_000])
def test_noise_is_heard_from_the_first_sample_to_the_last_as_if_it_had_always_been(samples):
    """A constant comes out constant: nothing of it builds up or fades, whatever the blocks."""
    steady = np.ones((1, samples + 899), np.float32)
    noise = mix(np.resize(SPEECH, samples), steady, np.abs(RESPONSES[:2]), 0, 20).noise
    for m in range(2):
        np.testing.assert_allclose(noise[m], noise[m, 0], rtol=1e-4)
    assert noise[1, 0] / noise[0, 0] == pytest.approx(np.abs(RESPONSES[1, 1]).sum() / np.abs(RESPONSES[1, 0]).sum())


def test_direct_path_stays_at_its_sample_and_length_is_kept():
    click = np.zeros(1000, np.float32)
    click[400] = 0.5
    response = np.zeros((1, 1, 200), np.float32)
    response[0, 0, 77] = 0.02
    mixture = mix(click, np.empty((0, 1000), np.float32), response, 10, 77)
    np.testing.assert_allclose(mixture.waveform[0], click, atol=1e-6)


def test_loud_mixture_is_turned_down_to_a_peak_of_one_and_keeps_its_snr():
    mixture = mix(SPEECH * 10, NOISES, RESPONSES, -5, 20)
    assert np.abs(mixture.waveform).max() == pytest.approx(1, abs=1e-6)
    assert _level_db(mixture.speech[0]) - _level_db(mixture.noise[0]) == pytest.approx(-5, abs=0.01)


def test_without_noise_or_with_silent_noise_speech_is_alone():
    alone = mix(SPEECH, NOISES[:0], RESPONSES[:1], 5, 20)
    silent = mix(SPEECH, NOISES * 0, RESPONSES, 5, 20)
    assert not alone.noise.any()
    assert not silent.noise.any()
    np.testing.assert_allclose(alone.waveform, silent.waveform, atol=1e-6)


def test_silent_speech_is_rejected():
    with pytest.raises(RejectedExample, match="speech is silent"):
        mix(SPEECH * 0, NOISES, RESPONSES, 5, 20)
