import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import PchipInterpolator

from sonorant.audio.monotone_curve import monotone_curve


@given(
    st.lists(st.tuples(st.floats(0.05, 3), st.integers(-3, 3)), min_size=2, max_size=9),
    st.floats(-5, 5),
)
def test_the_curve_is_scipy_s(steps, start):
    widths, values = zip(*steps, strict=True)
    x, y = start + np.cumsum(widths), np.array(values, float)
    at = np.concatenate([np.linspace(x[0], x[-1], 101), x])
    np.testing.assert_allclose(monotone_curve(x, y, at), PchipInterpolator(x, y)(at), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("y", [(0, 1, 1, 5), (5, 1, 0, -2)])
def test_it_rises_or_falls_as_its_points_do(y):
    curve = monotone_curve(np.array([0.0, 1.0, 1.5, 4.0]), np.array(y, float), np.linspace(0, 4, 1000))
    assert (np.diff(curve) * np.sign(y[-1] - y[0]) >= -1e-12).all()
