"""Forced alignment: the most probable path of a CTC model's frames that spells given labels (Viterbi 1967).

Compiled, since it is a loop over frames; `sonorant/ctc/forced_alignment.hpp` has the recursion.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import IntArray
from sonorant.decoding import kernels

__all__ = ["force_align"]


def force_align(log_probs: NDArray[np.floating[Any]], labels: Sequence[int], blank: int) -> IntArray:
    """Return Int64[frames]: the symbol of each frame on the most probable path that collapses to `labels`.

    log_probs: [frames, symbols]. Of equally probable paths it is that whose last symbols begin earliest.
    Raises ValueError if no path spells the labels in so few frames, or if one of them is no symbol.
    """
    return kernels.force_align(log_probs, labels, blank)
