"""What CTC says of a whole hypothesis: its log-probability over all paths, by the kernel of CTC's loss."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.ctc import kernels

__all__ = ["ctc_log_prob"]


def ctc_log_prob(log_probs: NDArray[np.float32], labels: Sequence[int]) -> float:
    """Return log P(labels) of frames [T >= 1, units + 1], blank last: the sum over all paths (Graves 2006, Eq. 8).

    -inf if no path spells the labels, NaN where a log-probability is. Raises ValueError for labels that are no units.
    """
    if len(labels) > len(log_probs):  # the loss of these is 0, since training rejects them before
        return -math.inf
    frames = np.ascontiguousarray(log_probs, np.float32)[np.newaxis]
    loss = np.empty(1, np.float32)
    lengths, spelt, counts = (np.array([one], np.int32) for one in (len(log_probs), labels, len(labels)))
    kernels.ctc_loss(frames, lengths, spelt, counts, 1, loss, np.empty_like(frames))
    return -float(loss[0])
