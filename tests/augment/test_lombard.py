import numpy as np
import pytest

from sonorant.augment.lombard import LombardRecipe, lombard_stage, tilt
from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.randomness import generator

RATE_HZ = 16000
WAVEFORM = (0.01 * np.random.default_rng(0).standard_normal(RATE_HZ)).astype(np.float32)
EXAMPLE = Example(Lineage(0, 0, 0), "u", "one", RATE_HZ, 1.0, waveform=WAVEFORM, words=(WordSpan("one", 0.25, 0.75),))


def level_db(waveform):
    return 10 * np.log10(np.mean(np.square(waveform, dtype=float)))


def at(efforts, **keys):
    return lombard_stage(LombardRecipe(stage="lombard", effort={"low": efforts[0], "high": efforts[1]}, **keys))


def test_the_tilt_is_that_of_its_closed_form_and_keeps_the_power():
    tilted = tilt(WAVEFORM, RATE_HZ, 3.0)
    assert level_db(tilted) == pytest.approx(level_db(WAVEFORM), abs=0.01)
    gain_db = 20 * np.log10(np.abs(np.fft.rfft(tilted)) / np.abs(np.fft.rfft(WAVEFORM)))
    base_db = np.median(gain_db[200:400])
    for hz, rise_db in ((1000, 3.0), (2000, 6.0), (3900, 8.9), (6000, 9.0)):
        assert np.median(gain_db[hz - 50 : hz + 50]) - base_db == pytest.approx(rise_db, abs=0.4), hz


def test_full_effort_is_louder_and_longer_and_words_move():
    raised = at((1, 1), level_db=8, stretch=1.2)(EXAMPLE, np.random.default_rng(0))
    assert len(raised.waveform) == round(1.2 * RATE_HZ)
    assert level_db(raised.waveform) - level_db(WAVEFORM) == pytest.approx(8, abs=1)
    assert raised.words == (("one", pytest.approx(0.3), pytest.approx(0.9)),)


def test_no_effort_changes_nothing():
    calm = at((0, 0))(EXAMPLE, np.random.default_rng(0))
    np.testing.assert_allclose(calm.waveform, WAVEFORM, atol=1e-6)
    assert calm.words == EXAMPLE.words


def test_effort_follows_the_key():
    stage = at((0, 1))
    lengths = [len(stage(EXAMPLE, generator(0, epoch, "u", "lombard")).waveform) for epoch in (0, 1, 0)]
    assert lengths[0] == lengths[2] != lengths[1]


def test_silence_and_two_microphones_pass():
    silent = at((1, 1))(
        Example(Lineage(0, 0, 0), "u", "", RATE_HZ, 1.0, waveform=0 * WAVEFORM), np.random.default_rng(0)
    )
    assert not silent.waveform.any()
    both = at((1, 1))(
        Example(Lineage(0, 0, 0), "u", "", RATE_HZ, 1.0, waveform=np.stack([WAVEFORM] * 2)), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(both.waveform[0], both.waveform[1])


def test_effort_beyond_one_is_refused():
    with pytest.raises(ValueError, match=r"effort=0\.0\.\.2\.0: must lie in 0\.\.1"):
        at((0, 2))
