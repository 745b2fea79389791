import numpy as np
import pytest

from sonorant.augment.gain import GainRecipe, gain_stage
from sonorant.delivery.example import Example, Lineage
from sonorant.randomness import generator

WAVEFORM = (0.05 * np.random.default_rng(0).standard_normal((2, 4000))).astype(np.float32)
EXAMPLE = Example(Lineage(0, 0, 0), "u", "one", 8000, 0.5, waveform=WAVEFORM)


def gain_db(before, after):
    return 10 * np.log10(np.mean(np.square(after, dtype=float)) / np.mean(np.square(before, dtype=float)))


def test_the_stage_draws_gains_evenly_by_key_and_the_same_for_both_microphones():
    stage = gain_stage(GainRecipe(stage="gain", gain_db={"low": -10, "high": 2}))
    heard = [stage(EXAMPLE, generator(1, epoch, "u", "gain")).waveform for epoch in range(200)]
    gains = [gain_db(WAVEFORM, waveform) for waveform in heard]
    assert -10 <= min(gains) < -9
    assert 1 < max(gains) <= 2.001
    assert np.mean(gains) == pytest.approx(-4, abs=0.8)
    assert gain_db(WAVEFORM[0], heard[0][0]) == pytest.approx(gain_db(WAVEFORM[1], heard[0][1]), abs=1e-4)
    np.testing.assert_array_equal(heard[7], stage(EXAMPLE, generator(1, 7, "u", "gain")).waveform)


def test_gains_beyond_hearing_are_refused():
    with pytest.raises(ValueError, match=r"gain_db=-90.0..6.0: must lie in -60..60"):
        GainRecipe(stage="gain", gain_db={"low": -90, "high": 6})
