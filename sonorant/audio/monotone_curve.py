"""A curve through points that never overshoots them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["monotone_curve"]

_Floats = NDArray[np.float64]


def monotone_curve(x: _Floats, y: _Floats, at: _Floats) -> _Floats:
    """Return a smooth curve's values at `at`, within x[0]..x[-1] and in its shape; x: two points or more, ascending.

    Between two points the curve is a cubic, and as monotone as they are (Fritsch and Carlson, "Monotone piecewise cubic
    interpolation", SIAM J. Numer. Anal. 17, 1980). At a point its slope is the weighted harmonic mean of the slopes on
    both sides, or 0 at an extremum (Fritsch and Butland, "A method for constructing local monotone piecewise cubic
    interpolants", SIAM J. Sci. Stat. Comput. 5, 1984).
    """
    width, rise = np.diff(x), np.diff(y)
    steep = rise / width
    first, last = _end_slope(width, steep), _end_slope(width[::-1], steep[::-1])
    slope = np.concatenate([[first], _inner_slopes(width, steep), [last]])
    piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(width) - 1)
    past = (at - x[piece]) / width[piece]
    left, right = slope[piece] * width[piece], slope[piece + 1] * width[piece]
    bend, twist = 3 * rise[piece] - 2 * left - right, left + right - 2 * rise[piece]
    curve: _Floats = y[piece] + past * (left + past * (bend + past * twist))
    return curve


def _inner_slopes(width: _Floats, steep: _Floats) -> _Floats:
    before, after = steep[:-1], steep[1:]
    near, far = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    goes_on = before * after > 0
    slopes = np.zeros(len(before))
    np.divide((near + far) * before * after, near * after + far * before, out=slopes, where=goes_on)
    return slopes


def _end_slope(width: _Floats, steep: _Floats) -> float:
    """Return the slope at the first point: of the parabola through three, unless the curve would then overshoot."""
    if len(width) == 1:
        return float(steep[0])
    slope = ((2 * width[0] + width[1]) * steep[0] - width[0] * steep[1]) / (width[0] + width[1])
    if slope * steep[0] <= 0:
        return 0.0
    if steep[0] * steep[1] <= 0 and abs(slope) > abs(3 * steep[0]):
        return float(3 * steep[0])
    return float(slope)
