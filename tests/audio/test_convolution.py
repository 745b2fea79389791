import numpy as np
import pytest
from scipy.signal import fftconvolve

from sonorant.audio.convolution import convolved

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("samples", "taps"), [(1, 1), (1, 9), (9, 1), (100, 1000), (4093, 101), (4096, 1025)])
@pytest.mark.parametrize("channels", [(), (1,), (2,)])
def test_it_is_the_linear_convolution_of_each_channel(samples, taps, channels):
    waveform = RNG.standard_normal((*channels, samples)).astype(np.float32)
    kernel = RNG.standard_normal(taps).astype(np.float32)
    whole = convolved(waveform, kernel)
    assert whole.dtype == np.float32
    expected = fftconvolve(waveform.astype(float), kernel.reshape((1,) * len(channels) + (-1,)).astype(float), axes=-1)
    np.testing.assert_allclose(whole, expected, atol=2e-6 * np.abs(expected).max())
