"""Best-path decoding of CTC outputs: the most probable unit of each frame, repeats merged, blanks dropped."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_path"]


def best_path(log_probs: NDArray[np.floating[Any]]) -> list[int]:
    """Return the units that the most probable alignment spells (Graves 2006, section 3.2, "best path decoding").

    log_probs: [frames, units + 1], blank last.
    """
    if not len(log_probs):
        return []
    best = np.argmax(log_probs, axis=1)
    changed = np.concatenate(([True], best[1:] != best[:-1]))
    return [int(unit) for unit in best[changed] if unit != log_probs.shape[1] - 1]
