"""Joint CTC-attention decoding: a decoder's log-probabilities and those of CTC prefixes, in one pass."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_prefix_model import CtcPrefixModel
from sonorant.decoding.label_decoder import LabelDecoder

__all__ = ["JointDecoder"]


class JointDecoder:
    """A decoder as a search drives it, of a model with joint CTC (Watanabe 2017, one-pass decoding).

    log P(y_l | x, y_<l) is (1 - ctc_weight) times the decoder's + ctc_weight times that of CTC prefixes, Float64;
    ctc_weight: in [0, 1); with 0 the model needs no CTC.
    """

    def __init__(self, decoder: LabelDecoder, ctc_weight: float) -> None:
        self._decoder = decoder
        self._weight = ctc_weight

    def begin(self, encoded: Sequence[NDArray[np.float32]]) -> Any:
        """See `LabelDecoder`; raises BadLogProbs."""
        state = self._decoder.begin(encoded)
        if not self._weight:
            return state, None, None
        prefixes = CtcPrefixModel(self._decoder.frame_log_probs(encoded))
        return state, prefixes, prefixes.begin(len(encoded))

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float32], Any]:
        """See `LabelDecoder`."""
        own, prefixes, of_prefixes = state
        log_probs, attention, own = self._decoder.next(before, parents, own)
        joint = (1 - self._weight) * log_probs.astype(np.float64)
        if prefixes is not None:
            of_ctc, of_prefixes = prefixes.next(before, parents, of_prefixes)
            joint += self._weight * of_ctc
        return joint, attention, (own, prefixes, of_prefixes)
