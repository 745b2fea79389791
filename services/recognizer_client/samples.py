"""A program's arrays of samples: what their type says, or a plain reason why not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Waveform
from sonorant.audio.pcm import Samples, from_int16
from sonorant.errors import BadAudio

__all__ = ["LOUDEST", "as_waveform", "check_scale"]

_EXPECTED = "expected [samples], of one channel, of int16 or of floats in [-1, 1]"
LOUDEST = 16.0  # 24 dB above full scale: no mix or filter comes to it, and speech of 16 bits begins there


def as_waveform(samples: Waveform | Samples) -> Waveform:
    """Return samples [samples] in [-1, 1]: floats as they are, int16 with 32768 as full scale.

    Raises BadAudio for arrays of another shape or type, and for a sample that is no number or infinite, which 16-bit
    samples cannot say.
    """
    array: NDArray[Any] = np.asarray(samples)
    is_int16 = array.dtype.kind == "i" and array.dtype.itemsize == 2
    if array.ndim != 1 or not (is_int16 or array.dtype.kind == "f"):
        raise BadAudio("samples", f"an array of shape {array.shape} and type {array.dtype}; {_EXPECTED}")
    if is_int16:
        return from_int16(array)
    finite = np.isfinite(array)
    if not finite.all():
        first = int(np.argmin(finite))
        raise BadAudio("samples", f"sample {first} is {array[first]}; expected numbers in [-1, 1]")
    return array


def check_scale(waveform: Waveform) -> None:
    """Raise BadAudio for floats [samples] that have the scale of 16-bit integers, which would be clipped to noise."""
    peak = float(np.max(np.abs(waveform), initial=0.0))
    if peak > LOUDEST:
        raise BadAudio("samples", f"floats up to {peak:g}; {_EXPECTED}: divide by 32768, or give int16")
