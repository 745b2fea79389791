import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sonorant.audio.pcm import from_int16, to_int16

EVERY = np.arange(-32768, 32768, dtype=np.int16)


def test_every_16_bit_sample_comes_back_as_it_was():
    assert from_int16(EVERY).dtype == np.float32
    np.testing.assert_array_equal(to_int16(from_int16(EVERY)), EVERY)
    np.testing.assert_array_equal(from_int16(EVERY), EVERY / 32768)


@given(arrays(np.float32, 20, elements=st.floats(-4, 4, width=32)))
def test_others_go_to_the_nearest_step_within_full_scale(waveform):
    nearest = np.clip(np.round(waveform.astype(float) * 32768), -32768, 32767)
    np.testing.assert_array_equal(to_int16(waveform), nearest)
    out = np.empty(20, ">i2")
    assert to_int16(waveform, out) is out
    np.testing.assert_array_equal(out, nearest)
