import numpy as np
import pytest

from sonorant.audio.decay import absorption_of
from sonorant.audio.image_method import LEAD, image_responses
from sonorant.audio.late_tail import add_late_tail, diffuse_noise

RATE = 8000
ROOM = np.array([6.0, 5.0, 3.0])
PAIR = np.array([[2.0, 2.0, 1.5], [2.15, 2.0, 1.5]])


def random_responses(rooms, t60_s, duration_s):
    """Exact responses between random positions of ROOM, high-passed by differences: images are all positive."""
    positions = np.random.default_rng(7).uniform(0.4, ROOM - 0.4, (2, rooms, 3))
    absorption = absorption_of(t60_s, ROOM)
    return image_responses(ROOM, absorption, *positions, RATE, duration_s).reshape(-1, int(duration_s * RATE) + 81)


def band_power(responses):
    """Power above 500 Hz in windows of 25 ms: Float64[responses, windows]."""
    whole = (
        responses[:, LEAD:][:, : responses.shape[1] // 200 * 200 - 200].astype(float).reshape(len(responses), -1, 200)
    )
    return (np.abs(np.fft.rfft(whole * np.hanning(200)))[..., 13:-3] ** 2).mean(axis=-1) / (np.hanning(200) ** 2).sum()


def test_a_tail_has_the_decay_of_the_exact_response():
    exact = random_responses(8, 0.4, 0.4)
    tailed = np.zeros((64, 1, exact.shape[1]), np.float32)
    rng = np.random.default_rng(0)
    add_late_tail(tailed, ROOM, absorption_of(0.4, ROOM), PAIR[:1], RATE, 0.05, 0.4, rng)
    assert not tailed[..., : LEAD + 400].any()
    assert not tailed[..., LEAD + 3200 :].any()
    ours, theirs = (10 * np.log10(band_power(h.reshape(64, -1)).mean(axis=0)[2:]) for h in (tailed, exact))
    slope = [np.polyfit(np.arange(len(level)), level, 1)[0] for level in (ours, theirs)]
    assert slope[0] == pytest.approx(slope[1], rel=0.03)
    assert np.mean(ours - theirs) == pytest.approx(0, abs=0.3)


def test_two_microphones_hear_a_diffuse_field():
    """The cross-spectrum over many noises is sin(k d) / (k d), zero crossing included; 15 cm crosses at 1143 Hz."""
    noise = diffuse_noise(400, PAIR, 512, RATE, np.random.default_rng(0))
    left, right = np.moveaxis(np.fft.rfft(noise * np.hanning(512)), 1, 0)
    power = [(np.abs(side) ** 2).mean(axis=0) for side in (left, right)]
    coherence = (left * right.conj()).mean(axis=0) / np.sqrt(power[0] * power[1])
    frequency = np.fft.rfftfreq(512, 1 / RATE)
    k_d = 2 * np.pi * frequency[4:] * 0.15 / 343
    np.testing.assert_allclose(coherence[4:].real, np.sin(k_d) / k_d, atol=0.2)
    assert np.abs(coherence[4:].real - np.sin(k_d) / k_d).mean() < 0.05
    assert np.abs(coherence[4:].imag).mean() < 0.06


def test_diffuse_noise_has_power_one_at_all_microphones_and_sources_share_nothing():
    noise = diffuse_noise(2, PAIR, 40_000, RATE, np.random.default_rng(0)).astype(float)
    assert noise.shape == (2, 2, 40_000)
    np.testing.assert_allclose((noise**2).mean(axis=-1), 1, atol=0.03)
    assert abs((noise[0, 0] * noise[1, 0]).mean()) < 0.03


def test_one_microphone_hears_white_noise():
    noise = diffuse_noise(3, PAIR[:1], 1000, RATE, np.random.default_rng(5))
    assert noise.shape == (3, 1, 1000)
    assert noise.dtype == np.float32


def test_a_tail_that_ends_before_it_starts_is_none():
    responses = np.zeros((1, 1, 500), np.float32)
    add_late_tail(responses, ROOM, 0.3, PAIR[:1], RATE, 0.05, 0.04, np.random.default_rng(0))
    assert not responses.any()
