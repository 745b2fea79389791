import numpy as np
import pytest
from scipy.signal import get_window

from sonorant.audio.windows import hann


@pytest.mark.parametrize("samples", [2, 7, 200, 401])
def test_hann_is_that_of_scipy(samples):
    np.testing.assert_allclose(hann(samples), get_window("hann", samples), atol=1e-7)


def test_hann_and_itself_half_a_window_later_add_up_to_one():
    np.testing.assert_allclose(hann(400)[:200] + hann(400)[200:], 1, atol=1e-6)


def test_a_window_that_others_use_too_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        hann(8)[0] = 1
