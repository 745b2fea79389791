import numpy as np
import pytest

from sonorant.augment.speed import SpeedRecipe, change_speed, speed_stage
from sonorant.delivery.example import Example, Lineage, WordSpan

RATE_HZ = 8000


def _tone(hz, seconds=1.0):
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * RATE_HZ)) / RATE_HZ)).astype(np.float32)


@pytest.mark.parametrize("factor", [0.8, 0.93, 1.1, 1.25])
def test_a_tone_is_the_tone_of_the_new_speed(factor):
    fast = change_speed(_tone(1000), factor)
    rounded = RATE_HZ / len(fast)
    assert rounded == pytest.approx(factor, rel=1e-4)
    expected = _tone(1000 * rounded, 1 / rounded)
    assert fast.dtype == np.float32
    np.testing.assert_allclose(fast[200:-200], expected[200:-200], atol=2e-3)


def test_speed_one_is_identity():
    np.testing.assert_allclose(change_speed(_tone(700), 1.0), _tone(700), atol=1e-6)


@pytest.mark.parametrize("samples", [1, 2, 7, 8001])
def test_the_length_is_the_old_one_divided_by_the_factor(samples):
    stereo = np.stack([_tone(500, 2)[:samples]] * 2)
    assert change_speed(stereo, 1.17).shape == (2, max(1, round(samples / 1.17)))


def test_words_move_with_the_speech_and_replay_is_identical():
    words = (WordSpan("one", 0.2, 0.4), WordSpan("two", 0.5, 0.9))
    example = Example(Lineage(0, 0, 0), "u", "one two", RATE_HZ, 1.0, waveform=_tone(440), words=words)
    stage = speed_stage(SpeedRecipe(stage="speed", factor={"low": 1.2, "high": 1.25}))
    first, again = (stage(example, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.waveform, again.waveform)
    ratio = len(first.waveform) / len(example.waveform)
    assert 1 / 1.25 <= ratio <= 1 / 1.2
    assert first.words[1] == ("two", pytest.approx(0.5 * ratio), pytest.approx(0.9 * ratio))


def test_probability_zero_leaves_the_example_alone():
    example = Example(Lineage(0, 0, 0), "u", "one", RATE_HZ, 1.0, waveform=_tone(440))
    assert speed_stage(SpeedRecipe(stage="speed", probability=0.0))(example, np.random.default_rng(3)) is example
