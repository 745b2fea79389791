import numpy as np
import pytest

from sonorant.audio.fft_rows import row_stride, spaced_rows


@pytest.mark.parametrize("length", [1, 15, 16, 17, 800, 1024, 24576, 24577])
def test_rows_hold_their_samples_and_begin_an_odd_number_of_cache_lines_apart(length):
    assert row_stride(length) >= length
    assert row_stride(length) % 16 == 0
    assert row_stride(length) // 16 % 2 == 1
    assert row_stride(length) - length < 32
    rows = spaced_rows(3, length)
    assert rows.shape == (3, length)
    assert rows.dtype == np.float32
    assert rows.strides == (4 * row_stride(length), 4)
