import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import welch

from sonorant.audio.noise import looped, pink_noise, white_noise
from sonorant.errors import RejectedExample


def test_white_noise_is_flat_and_pink_noise_falls_by_three_decibels_an_octave():
    for make, slope in ((white_noise, 0.0), (pink_noise, -3.01)):
        frequency, density = welch(make(400_000, np.random.default_rng(0)), 8000, nperseg=4096)
        band = (frequency > 60) & (frequency < 3500)
        fitted = np.polyfit(np.log2(frequency[band]), 10 * np.log10(density[band]), 1)[0]
        assert fitted == pytest.approx(slope, abs=0.1)


@settings(max_examples=50)
@given(st.integers(1, 3000), st.integers(1, 9000), st.integers(0, 99))
def test_looped_noise_has_the_length_asked_for(length, samples, seed):
    noise = white_noise(length, np.random.default_rng(1))
    result = looped(noise, samples, 8000, np.random.default_rng(seed))
    assert result.shape == (samples,)
    assert result.dtype == np.float32
    assert np.isfinite(result).all()


def test_noise_that_is_long_enough_is_cut_out_in_one_piece():
    noise = np.arange(5000, dtype=np.float32)
    piece = looped(noise, 2000, 8000, np.random.default_rng(3))
    np.testing.assert_array_equal(np.diff(piece), 1)


def test_loop_keeps_its_power_where_it_is_joined():
    short = white_noise(1600, np.random.default_rng(1))
    power = np.mean(
        [looped(short * sign, 80_000, 8000, np.random.default_rng(2)) ** 2 for sign in (1, -1)], axis=0
    ).reshape(-1, 400)
    assert power.mean(axis=1).min() > 0.7
    assert power.mean(axis=1).max() < 1.4


def test_loop_has_no_click():
    slow = np.sin(2 * np.pi * 3.3 * np.arange(4000) / 8000).astype(np.float32)
    assert np.abs(np.diff(looped(slow, 40_000, 8000, np.random.default_rng(0)))).max() < 0.01


def test_noise_without_samples_is_rejected():
    with pytest.raises(RejectedExample, match="no samples"):
        looped(np.empty(0, np.float32), 10, 8000, np.random.default_rng(0))
