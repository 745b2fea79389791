"""16-bit samples and float ones, in both directions: one rule for recordings, links and streams."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Waveform

__all__ = ["Samples", "from_int16", "to_int16"]

Samples: TypeAlias = NDArray[np.int16]

_STEPS = np.float32(32768)  # from 0 to full scale


def to_int16(waveform: Waveform, out: Samples | None = None) -> Samples:
    """Return Int16[...], rounded to the nearest of steps of 2⁻¹⁵; what lies outside [-1, 1 - 2⁻¹⁵] is clipped.

    So what `from_int16` gave comes back as it was. out: where to write it; any byte order.
    """
    steps = waveform * _STEPS
    np.rint(steps, out=steps)
    np.clip(steps, -_STEPS, _STEPS - 1, out=steps)
    if out is None:
        return steps.astype("<i2")
    np.copyto(out, steps, casting="unsafe")
    return out


def from_int16(samples: Samples) -> Waveform:
    """Return Float32[...] in [-1, 1), exactly."""
    waveform = samples.astype(np.float32)
    waveform *= 1 / _STEPS
    return waveform
