"""Names for the arrays that pass between packages; shapes are in the comments and checked in tests."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Features", "IntArray", "Responses", "Waveform"]

Waveform: TypeAlias = NDArray[np.float32]  # [samples] or [microphones, samples], in [-1, 1]
Features: TypeAlias = NDArray[np.float32]  # [frames, bins]
Responses: TypeAlias = NDArray[np.float32]  # [sources, microphones, taps]
IntArray: TypeAlias = NDArray[np.int64]
