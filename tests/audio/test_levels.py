import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sonorant.audio.levels import amplify, unit_power

WAVEFORM = (0.05 * np.random.default_rng(0).standard_normal((2, 4000))).astype(np.float32)


def gain_db(before, after):
    return 10 * np.log10(np.mean(np.square(after, dtype=float)) / np.mean(np.square(before, dtype=float)))


def test_the_level_rises_by_the_gain():
    assert gain_db(WAVEFORM, amplify(WAVEFORM, 6.0)) == pytest.approx(6.0, abs=1e-4)
    np.testing.assert_array_equal(amplify(WAVEFORM, 0.0), WAVEFORM)


@given(arrays(np.float32, (2, 20), elements=st.floats(-4, 4, width=32)), st.floats(-60, 60))
def test_nothing_leaves_full_scale_and_the_shape_of_the_waveform_stays(waveform, db):
    louder = amplify(waveform, db)
    assert louder.dtype == np.float32
    assert np.abs(louder).max() <= 1
    wanted = waveform * 10 ** (db / 20)
    np.testing.assert_allclose(louder, wanted / max(1.0, np.abs(wanted).max()), rtol=1e-5, atol=1e-7)


def test_unit_power_scales_sound_and_leaves_silence():
    assert np.mean(unit_power(np.full(10, 3, np.float32)) ** 2) == pytest.approx(1)
    assert not unit_power(np.zeros(10, np.float32)).any()
