import numpy as np
import pytest

from sonorant.audio.high_pass import high_passed


@pytest.mark.parametrize("rate_hz", [8000, 16000])
def test_what_lies_below_100_hz_goes_and_speech_stays(rate_hz):
    impulse = np.zeros((2, 1, rate_hz), np.float32)
    impulse[..., 10] = 1
    passed = high_passed(impulse, rate_hz)
    gain = np.abs(np.fft.rfft(passed))  # a bin for each Hz
    assert passed.shape == impulse.shape
    assert passed.dtype == np.float32
    assert (gain[..., 0] < 1e-3).all()
    assert (gain[..., 20] < 0.15 * gain[..., 1000]).all()
    decibels = 20 * np.log10(gain[..., 300 : rate_hz // 2 - 200] / gain[..., 1000, None])
    assert np.abs(decibels).max() < 1.5
    assert not passed[..., :10].any()
