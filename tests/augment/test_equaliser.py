import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.augment.equaliser import EqualiserRecipe, equalise, equaliser_stage, smooth_curve
from sonorant.delivery.example import Example, Lineage
from sonorant.randomness import generator

RATE_HZ = 16000
POINTS_HZ = (100.0, 300.0, 1000.0, 3000.0, 8000.0)
GAINS_DB = (-6.0, 4.0, 0.0, 6.0, -5.0)


def click(samples=RATE_HZ, at=RATE_HZ // 2):
    waveform = np.zeros(samples, np.float32)
    waveform[at] = 1
    return waveform


def response_db(waveform):
    return 20 * np.log10(np.abs(np.fft.rfft(waveform)) + 1e-9)


@pytest.mark.parametrize("phase", ["zero", "minimum"])
def test_the_response_is_the_curve(phase):
    measured = response_db(equalise(click(), RATE_HZ, POINTS_HZ, GAINS_DB, phase))
    hz = np.arange(len(measured), dtype=float)
    np.testing.assert_allclose(measured[60:], smooth_curve(POINTS_HZ, GAINS_DB, hz)[60:], atol=0.5)
    for point_hz, gain_db in zip(POINTS_HZ, GAINS_DB, strict=True):
        assert measured[int(point_hz)] == pytest.approx(gain_db, abs=0.5)


def test_zero_phase_is_symmetric_and_minimum_phase_is_causal():
    zero = equalise(click(16001, 8000), RATE_HZ, POINTS_HZ, GAINS_DB, "zero")
    np.testing.assert_allclose(zero, zero[::-1], atol=1e-6)
    minimum = equalise(click(), RATE_HZ, POINTS_HZ, GAINS_DB, "minimum")
    assert np.abs(minimum[: RATE_HZ // 2]).max() < 1e-6
    energy = np.cumsum(np.square(minimum, dtype=float))
    assert energy[RATE_HZ // 2 + 16] > 0.9 * energy[-1]


def group_delay_ms(gains_db, low_hz):
    """Return the largest group delay, either way, from low_hz to 3,400 Hz: the real part of DFT(n h) / DFT(h)."""
    points_hz = np.geomspace(100, 4000, len(gains_db))
    response = equalise(click(4000, 0), 8000, points_hz, gains_db, "minimum").astype(float)
    delay = (np.fft.rfft(np.arange(4000) * response) / np.fft.rfft(response)).real / 8
    return np.abs(delay[low_hz // 2 : 1700 + 1]).max()


@pytest.mark.parametrize(
    ("points", "most_db", "low_hz", "longest_ms", "steepest"),
    [
        (6, 6, 300, 1.3, (-1, -1, 1, -1, -1, -1)),
        (6, 6, 100, 5.3, (-1, 1, -1, 1, 1, 1)),
        (12, 24, 300, 13, (1, 1, 1, 1, -1, 1, 1, -1, 1, 1, 1, 1)),
        (12, 24, 100, 40, (-1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1)),
    ],
)
def test_minimum_phase_delays_by_what_its_docstring_says(points, most_db, low_hz, longest_ms, steepest):
    """Over random curves, and those of all signs that a search found to delay most."""
    curves = most_db * np.random.default_rng(0).uniform(-1, 1, (100, points))
    for gains_db in curves:
        assert group_delay_ms(gains_db, low_hz) < longest_ms
    assert 0.95 * longest_ms < group_delay_ms(most_db * np.array(steepest), low_hz) < 1.01 * longest_ms


def test_level_curve_changes_nothing_but_the_level():
    noise = np.random.default_rng(0).standard_normal((2, 4000)).astype(np.float32)
    for phase in ("zero", "minimum"):
        np.testing.assert_allclose(equalise(noise, 8000, (100, 4000), (6, 6), phase), noise * 10 ** (6 / 20), atol=1e-4)


@settings(max_examples=30)
@given(st.lists(st.floats(-6, 6), min_size=2, max_size=8), st.integers(1, 300), st.sampled_from(["zero", "minimum"]))
def test_the_curve_keeps_to_its_points_and_the_length_stays(gains_db, samples, phase):
    points_hz = np.geomspace(100, 4000, len(gains_db))
    curve = smooth_curve(points_hz, gains_db, np.linspace(0, 4000, 500))
    assert curve.min() >= min(gains_db) - 1e-9
    assert curve.max() <= max(gains_db) + 1e-9
    filtered = equalise(np.ones((2, samples), np.float32), 8000, points_hz, gains_db, phase)
    assert filtered.shape == (2, samples)
    assert filtered.dtype == np.float32


def test_the_stage_draws_a_curve_by_key_within_its_bounds():
    example = Example(Lineage(0, 0, 0), "u", "one", RATE_HZ, 1.0, waveform=0.2 * click())
    stage = equaliser_stage(EqualiserRecipe(stage="equaliser", most_db=6))
    curves = []
    for epoch in range(20):
        heard = stage(example, generator(1, epoch, "u", "equaliser")).waveform
        np.testing.assert_array_equal(heard, stage(example, generator(1, epoch, "u", "equaliser")).waveform)
        curves.append(response_db(heard / 0.2)[100:])
    assert 4 < np.max(curves) < 6.3
    assert -6.3 < np.min(curves) < -4
    assert np.std(curves, axis=0).min() > 1
