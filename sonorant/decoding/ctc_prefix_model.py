"""CTC beside the decoder in the search by label: joint CTC-attention decoding, in one pass."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.kernels import CtcPrefixState, begin_prefixes, next_prefixes
from sonorant.decoding.label_decoder import LabelDecoder

__all__ = ["CtcPrefixModel"]


class CtcPrefixModel:
    """A `LabelModel` by the CTC prefix probability psi: Watanabe et al. 2017, section II-C, algorithm 2.

    A label y after the labels g gains log psi(g, y) - log psi(g), the end log P_ctc(g) - log psi(g), so that their sum
    over a hypothesis is its log P_ctc. All alignments count; `ctc_prefixes.hpp` has the recursion.
    """

    def __init__(self, decoder: LabelDecoder) -> None:
        """Take the decoder of a model with joint CTC."""
        self._decoder = decoder

    def begin(self, encoded: Sequence[NDArray[np.float32]]) -> CtcPrefixState:
        """See `LabelModel`; raises BadLogProbs for NaN."""
        try:
            return begin_prefixes([np.ascontiguousarray(rows) for rows in self._decoder.frame_log_probs(encoded)])
        except ValueError as error:
            raise BadLogProbs(str(error)) from None

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: CtcPrefixState
    ) -> tuple[NDArray[np.float64], CtcPrefixState]:
        """See `LabelModel`."""
        return next_prefixes(before, parents, state)
