import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.audio.stretch import stretch

RATE_HZ = 8000


def tone(hz, seconds=1.0):
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * RATE_HZ)) / RATE_HZ)).astype(np.float32)


@pytest.mark.parametrize("factor", [0.85, 1.07, 1.3])
@pytest.mark.parametrize("hz", [110, 440, 1530])
def test_a_tone_keeps_pitch_and_level(factor, hz):
    longer = stretch(tone(hz), factor, RATE_HZ)
    assert len(longer) == round(RATE_HZ * factor)
    inner = longer[400:-400]
    spectrum = np.abs(np.fft.rfft(inner * np.hanning(len(inner)), 1 << 16))
    assert spectrum.argmax() * RATE_HZ / (1 << 16) == pytest.approx(hz, abs=3)
    assert np.sqrt(2 * np.mean(inner.astype(float) ** 2)) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_what_happens_at_a_share_of_the_time_still_does(factor):
    burst = np.zeros(RATE_HZ, np.float32)
    burst[3000:3400] = tone(600)[:400]
    power = np.square(stretch(burst, factor, RATE_HZ), dtype=float)
    centre = (power * np.arange(len(power))).sum() / power.sum()
    assert centre == pytest.approx(3200 * factor, abs=120)


def test_microphones_stay_in_step():
    noise = np.random.default_rng(0).standard_normal(RATE_HZ).astype(np.float32)
    longer = stretch(np.stack([noise, 0.5 * noise]), 1.1, RATE_HZ)
    np.testing.assert_allclose(longer[1], 0.5 * longer[0], atol=1e-6)


@settings(max_examples=40)
@given(st.integers(1, 3000), st.floats(0.5, 1.5), st.sampled_from([8000, 11025, 16000]))
def test_any_length_comes_out_as_long_as_asked(samples, factor, rate_hz):
    longer = stretch(np.ones((2, samples), np.float32), factor, rate_hz)
    assert longer.shape == (2, max(1, round(samples * factor)))
    assert longer.dtype == np.float32
    assert np.abs(longer).max() <= 1.0001


def test_the_old_duration_is_identity_and_silence_stays_silent():
    np.testing.assert_array_equal(stretch(tone(300), 1.0, RATE_HZ), tone(300))
    assert not stretch(np.zeros(RATE_HZ, np.float32), 1.2, RATE_HZ).any()
