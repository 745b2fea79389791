"""Forced alignment: the most probable path of a CTC model's frames that spells given labels (Viterbi 1967)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import IntArray

__all__ = ["force_align"]


def force_align(log_probs: NDArray[np.floating[Any]], labels: Sequence[int], blank: int) -> IntArray:
    """Return Int64[frames]: the symbol of each frame on the most probable path that collapses to `labels`.

    log_probs: [frames, symbols]. With y the labels and blanks before, between and after them, a path is in state s at
    frame t with probability (Graves 2006, Eq. 6 and 7, with max in place of the sum)

        v_t(s) = p_t(y_s) max(v_{t-1}(s), v_{t-1}(s - 1), v_{t-1}(s - 2) if y_s is neither blank nor y_{s-2}).

    Raises ValueError if no path spells the labels in so few frames.
    """
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)
    skips[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    emitted = np.asarray(log_probs, np.float64)[:, states]
    best = np.full(len(states), -np.inf)
    best[:2] = emitted[0, :2]
    steps = np.zeros(emitted.shape, np.int8)  # how many states back each one was reached from
    for t in range(1, len(emitted)):
        ways = np.full((3, len(states)), -np.inf)
        ways[0] = best
        ways[1, 1:] = best[:-1]
        ways[2, 2:] = np.where(skips[2:], best[:-2], -np.inf)
        steps[t] = ways.argmax(0)
        best = ways.max(0) + emitted[t]
    state = len(states) - 1 - int(len(states) > 1 and best[-2] > best[-1])
    if not np.isfinite(best[state]):
        raise ValueError(f"{len(emitted)} frames for {len(labels)} labels: no path spells them")
    path = np.empty(len(emitted), np.int64)
    for t in range(len(emitted) - 1, -1, -1):
        path[t] = states[state]
        state -= int(steps[t, state])
    return path
