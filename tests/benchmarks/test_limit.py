import numpy as np
import pytest
from ducc0 import fft

from benchmarks.limit import fft_flops


def test_flops_of_transforms_there_and_back_are_counted():
    def work():
        spectra = fft.r2c(np.ones((3, 256), np.float32), axes=(1,))
        fft.c2r(spectra, axes=(1,), lastsize=256, forward=False)

    assert fft_flops(work) == pytest.approx(2 * 3 * 2.5 * 256 * 8)
    assert "count" not in repr(fft.r2c).lower()
