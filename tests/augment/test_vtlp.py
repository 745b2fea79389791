import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.augment.vtlp import VtlpRecipe, vtlp_stage, warp, warp_frequency
from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.errors import RejectedExample
from sonorant.randomness import generator
from sonorant.section import Interval

RATE = 8000
ALPHAS = (0.8, 0.87, 0.95, 1.05, 1.13, 1.2)


def tone(hz, seconds=1.0, rate=RATE):
    return (0.5 * np.cos(2 * np.pi * hz / rate * np.arange(round(seconds * rate)) + 0.3)).astype(np.float32)


def noise(samples=RATE, seed=0):
    return (0.1 * np.random.default_rng(seed).standard_normal(samples)).astype(np.float32)


def heard(waveform, omega):
    """Return how far, in radians per sample, a tone near omega is from it, and its amplitude over time."""
    middle = waveform[RATE // 10 : -RATE // 10].astype(np.float64)
    smooth = np.hanning(400) / np.hanning(400).sum()
    envelope = np.convolve(middle * np.exp(-1j * omega * np.arange(middle.size)), smooth, "valid")
    drift = np.polyfit(np.arange(envelope.size), np.unwrap(np.angle(envelope)), 1)[0]
    return drift, 2 * np.abs(envelope)


def example_of(waveform):
    words = (WordSpan("one", 0.1, 0.5),)
    return Example(Lineage(0, 0, 0), "u", "one", RATE, 1.0, waveform=waveform, words=words)


@pytest.mark.parametrize("alpha", [0.5, *ALPHAS, 1.5])
def test_the_map_is_equation_1(alpha):
    omega = np.linspace(0, np.pi, 101)
    bilinear = np.angle((np.exp(1j * omega) - (1 - alpha)) / (1 - (1 - alpha) * np.exp(1j * omega)))  # all-pass
    np.testing.assert_allclose(np.cos(warp_frequency(omega, alpha)), np.cos(bilinear), atol=1e-12)
    assert (np.diff(warp_frequency(omega, alpha)) > 0).all()


def test_a_known_frequency_is_mapped_as_computed_by_hand():
    assert warp_frequency(np.array(np.pi / 2), 0.8) == pytest.approx(np.pi / 2 + 2 * np.arctan(0.2))
    assert warp_frequency(np.array([0, np.pi]), 1.2) == pytest.approx([0, np.pi])


def test_two_minus_alpha_undoes_alpha():
    omega = np.linspace(0, np.pi, 50)
    np.testing.assert_allclose(warp_frequency(warp_frequency(omega, 0.83), 1.17), omega, atol=1e-12)


@pytest.mark.parametrize("samples", [1, 2, 99, 100, 399, 400, 401, 8000, 20011])
def test_alpha_one_is_identity(samples):
    np.testing.assert_allclose(warp(noise(samples), 1.0, RATE), noise(samples), atol=1e-5)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("hz", [80, 150, 333.3, 1000, 1234.5, 2000, 2718.3, 3500])
def test_a_tone_comes_out_where_the_map_says_and_as_loud(alpha, hz):
    omega = 2 * np.pi * hz / RATE
    expected = float(warp_frequency(np.array(omega), alpha))
    drift, amplitude = heard(warp(tone(hz), alpha, RATE), expected)
    bin_of_window = 2 * np.pi / 400
    assert abs(drift) < 0.01 * bin_of_window
    assert np.abs(20 * np.log10(amplitude / 0.5)).max() < 0.5


@pytest.mark.parametrize("soft_hz", [20, 160, 180])
def test_a_tone_keeps_its_level_beside_one_too_soft_to_hear(soft_hz):
    """Their peaks come nearer to each other than the loud one's lobe is wide."""
    expected = float(warp_frequency(np.array(2 * np.pi * 80 / RATE), 1.2))
    _, amplitude = heard(warp(tone(80) + 1e-6 * tone(soft_hz), 1.2, RATE), expected)
    assert np.abs(20 * np.log10(amplitude / 0.5)).max() < 0.1


@pytest.mark.parametrize("alpha", [0.8, 1.2])
def test_partials_of_a_voice_move_each_to_its_own_place(alpha):
    partials = np.arange(150, 3300, 150)
    voice = sum(tone(hz) for hz in partials) / 8
    for hz in partials:
        expected = float(warp_frequency(np.array(2 * np.pi * hz / RATE), alpha))
        drift, amplitude = heard(warp(voice, alpha, RATE), expected)
        assert abs(drift) < 0.02 * 2 * np.pi / 400
        assert np.abs(20 * np.log10(amplitude * 8 / 0.5)).max() < 1


@pytest.mark.parametrize("alpha", [0.8, 1.2])
def test_sounds_keep_their_time(alpha):
    click = np.zeros(RATE, np.float32)
    click[RATE // 2] = 1
    energy = np.cumsum(warp(click, alpha, RATE).astype(np.float64) ** 2)
    early, late = np.searchsorted(energy / energy[-1], [0.05, 0.95])
    assert RATE // 2 - 40 < early <= late < RATE // 2 + 40  # 5 ms


@pytest.mark.parametrize("alpha", ALPHAS)
def test_noise_keeps_its_power(alpha):
    assert abs(20 * np.log10(warp(noise(), alpha, RATE).std() / noise().std())) < 1.5


@given(
    samples=st.integers(0, 1500),
    alpha=st.floats(0.5, 1.5),
    window_ms=st.sampled_from([0.1, 1.0, 20.0, 50.0, 73.0]),
    rate=st.sampled_from([8000, 11025, 16000]),
)
@settings(max_examples=60)
def test_length_and_type_stay_and_values_are_finite(samples, alpha, window_ms, rate):
    warped = warp(noise(samples), alpha, rate, window_ms)
    assert warped.shape == (samples,)
    assert warped.dtype == np.float32
    assert np.isfinite(warped).all()


def test_silence_stays_silence():
    assert not warp(np.zeros(5000, np.float32), 0.9, RATE).any()


def test_silence_beside_speech_stays_silence():
    half = np.concatenate([noise(4000), np.zeros(4000, np.float32)])
    assert np.abs(warp(half, 0.85, RATE)[4400:]).max() < 1e-5


def test_the_stage_repeats_bit_for_bit():
    stage = vtlp_stage(VtlpRecipe(stage="vtlp"))
    first, again, other = (
        stage(example_of(noise()), generator(1, epoch, "u", "vtlp")).waveform.tobytes() for epoch in (0, 0, 1)
    )
    assert first == again != other


def test_the_stage_warps_by_the_factor_that_it_draws_and_leaves_all_else():
    stage = vtlp_stage(VtlpRecipe(stage="vtlp", alpha=Interval(low=0.9, high=1.1)))
    result = stage(example_of(noise()), np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rng.random()
    assert result.waveform.tobytes() == warp(noise(), rng.uniform(0.9, 1.1), RATE).tobytes()
    assert result.words == example_of(noise()).words


@pytest.mark.parametrize(("probability", "warped"), [(0.0, 0), (0.3, 60), (1.0, 200)])
def test_the_stage_warps_the_share_that_the_recipe_says(probability, warped):
    stage, example = vtlp_stage(VtlpRecipe(stage="vtlp", probability=probability)), example_of(noise(50))
    count = sum(stage(example, generator(0, i, "u", "vtlp")) is not example for i in range(200))
    assert count == pytest.approx(warped, abs=25 if 0 < probability < 1 else 0)


def test_microphones_are_warped_one_by_one():
    pair = np.stack([noise(seed=1), noise(seed=2)])
    stage = vtlp_stage(VtlpRecipe(stage="vtlp", alpha=Interval(low=0.9, high=0.9)))
    result = stage(example_of(pair), np.random.default_rng(0)).waveform
    assert result.tobytes() == np.stack([warp(pair[0], 0.9, RATE), warp(pair[1], 0.9, RATE)]).tobytes()


@pytest.mark.parametrize("probability", [0.0, 1.0])
@pytest.mark.parametrize(
    ("waveform", "reason"), [(None, "no waveform"), (np.full(9, np.nan, np.float32), "not finite")]
)
def test_the_stage_rejects_what_it_cannot_use(waveform, reason, probability):
    with pytest.raises(RejectedExample, match=reason):
        vtlp_stage(VtlpRecipe(stage="vtlp", probability=probability))(example_of(waveform), np.random.default_rng(0))
