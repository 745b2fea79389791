"""CTC's kernels, of a CPU, compiled from `kernels.cpp` and the headers beside it."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

VARIANT: Final[str]
"""What the loader picked, as of `sonorant.audio.kernels`."""

def ctc_loss(
    log_probs: NDArray[np.float32],
    lengths: NDArray[np.int32],
    labels: NDArray[np.int32],
    label_lengths: NDArray[np.int32],
    threads: int,
    losses: NDArray[np.float32],
    gradient: NDArray[np.float32],
) -> None:
    """Overwrite losses [B] and gradient [B, T, units + 1], of each loss by the log-probabilities, without the GIL.

    log_probs: [B, T, units + 1], blank last; lengths: [B], 0 to T; labels: [B, L], 0 to units - 1, padded with
    anything; label_lengths: [B], 0 to L. So many threads share the utterances. More labels than frames have loss 0;
    labels that no path spells, infinity; both no gradient. Nor has a loss that is NaN, where a log-probability is. All
    must be contiguous; raises ValueError if sizes do not fit or a number is out of its range.
    """

def ctc_spikes(
    log_probs: NDArray[np.float32],
    lengths: NDArray[np.int32],
    labels: NDArray[np.int32],
    label_lengths: NDArray[np.int32],
    threads: int,
    spikes: NDArray[np.int32],
) -> None:
    """Overwrite spikes [B, L]: see `head_alignment.ctc_spikes`; those of padding, and of what no path spells, by 0.

    The others, and what is raised, are of `ctc_loss`.
    """
