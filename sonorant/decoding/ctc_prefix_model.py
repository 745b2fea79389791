"""The prefix probabilities of CTC, label by label."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.kernels import CtcPrefixState, begin_prefixes, next_prefixes

__all__ = ["CtcPrefixModel"]


class CtcPrefixModel:
    """A `LabelModel` of certain utterances by the CTC prefix probability psi: Watanabe et al. 2017, algorithm 2.

    A label y after the labels g gains log psi(g, y) - log psi(g), the end log P_ctc(g) - log psi(g), so that their sum
    over a hypothesis is its log P_ctc. All alignments count; `ctc_prefixes.hpp` has the recursion.
    """

    def __init__(self, log_probs: Sequence[NDArray[np.float32]]) -> None:
        """Take the log-probabilities [frames, units + 1] of each utterance, blank last; raises BadLogProbs for NaN."""
        self._utterances = len(log_probs)
        try:
            self._start = begin_prefixes([np.ascontiguousarray(rows) for rows in log_probs])
        except ValueError as error:
            raise BadLogProbs(str(error)) from None

    def begin(self, batch: int) -> CtcPrefixState:
        """See `LabelModel`; the batch is that of the utterances."""
        assert batch == self._utterances, f"{batch} utterances, but log-probabilities of {self._utterances}"
        return self._start

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: CtcPrefixState
    ) -> tuple[NDArray[np.float64], CtcPrefixState]:
        """See `LabelModel`."""
        return next_prefixes(before, parents, state)
