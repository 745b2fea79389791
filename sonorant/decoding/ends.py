"""Where a hypothesis of a search by label may end: the end-of-sentence threshold of Hannun 2019 (arXiv 1904.02619).

A score sums logarithms of labels, so that where a model gives the end a small probability everywhere, as label
smoothing has it do, the empty text comes before a long one that is right. A hypothesis may end only where

    log P(end | x, y) > threshold x max over the other labels y' of log P(y' | x, y).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["may_end"]


def may_end(
    log_probs: NDArray[np.floating[Any]], gains: NDArray[np.float64], threshold: float | None
) -> NDArray[np.bool_]:
    """Return Bool[...] of log-probabilities [..., symbols], the end last.

    gains: what the symbols add to the score, [..., symbols]; labels that add -inf are not among the others. threshold:
    None: all may end.
    """
    if threshold is None:
        return np.ones(log_probs.shape[:-1], bool)
    others = np.where(gains[..., :-1] > -np.inf, log_probs[..., :-1], -np.inf).max(-1, initial=-np.inf)
    allowed: NDArray[np.bool_] = log_probs[..., -1] > threshold * others
    return allowed
