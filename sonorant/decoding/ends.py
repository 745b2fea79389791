"""Where a hypothesis of a search by label may end: the end-of-sentence threshold of Hannun 2019 (arXiv 1904.02619).

A score sums logarithms of labels, so that where a model gives the end a small probability everywhere, as label
smoothing has it do, the empty text comes before a long one that is right. A hypothesis may end only where

    log P(end | x, y) > threshold x max over the other labels y' of log P(y' | x, y).

P is that of the acoustic model, with joint CTC where the search has it, without language model and bonuses. Where no
hypothesis of an utterance may end, the one that came nearest to it has.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["end_margins"]


def end_margins(
    log_probs: NDArray[np.floating[Any]], gains: NDArray[np.float64], threshold: float | None
) -> NDArray[np.float64]:
    """Return by how much the left side exceeds the right one, [...], of log-probabilities [..., symbols], the end last.

    gains: what the symbols add to the score, [..., symbols]; labels that add -inf are not among the others. threshold:
    None: all may end, by an infinite margin; but none that the end has no probability after.
    """
    end = log_probs[..., -1].astype(np.float64)
    others = np.where(gains[..., :-1] > -np.inf, log_probs[..., :-1], -np.inf).max(-1, initial=-np.inf)
    margins = np.full(end.shape, np.inf) if threshold is None else end - threshold * np.maximum(others, -1e30)
    margins[gains[..., -1] == -np.inf] = -np.inf
    return margins
