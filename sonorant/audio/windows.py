"""Windows of frames."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["hann"]


@lru_cache(maxsize=32)
def hann(samples: int) -> NDArray[np.float32]:
    """Return the periodic Hann window, Float32[samples], read-only; shifted by half, it adds up to 1 with itself."""
    weights: NDArray[np.float64] = 0.5 - 0.5 * np.cos(2 * np.pi / samples * np.arange(samples))
    window = weights.astype(np.float32)
    window.setflags(write=False)
    return window
