"""Label-synchronous beam search, batched over utterances and hypotheses.

All hypotheses of a step have the same number of labels. The score of one is a sum over its labels, the end among them:

    sum over l of [log P(y_l | x, y_<l) - lambda_p log P(y_l) + lambda_lm log P_lm(y_l | y_<l)]     (Kim 2019, Eq. 3)
        + length_bonus x number of labels + coverage_weight x coverage,

where log P(y_l | x, y_<l) is that of `JointDecoder`, and coverage is the number of encoded frames whose attention,
summed over the labels, exceeds a threshold (Chorowski 2017, Eq. 11). A hypothesis of the beam may end where
`ended_labels.hpp` says, by log P(y_l | x, y_<l) alone; where none of an utterance may, the one that came nearest to it
has ended. An utterance is over when no open hypothesis can come before the last of `beam` ended ones, so that nothing
but the beam approximates. All but decoder and models is compiled: `label_hypotheses.hpp`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.joint_decoder import JointDecoder
from sonorant.decoding.kernels import LabelHypotheses, LabelScoring
from sonorant.decoding.label_decoder import Fusion, LabelDecoder

__all__ = ["Ended", "LabelBeam", "Scoring"]


class Scoring(NamedTuple):
    """What adds to a decoder's log-probabilities; see the module.

    ctc_weight: in [0, 1); end_threshold: see `ended_labels.hpp`; None: all may end.
    """

    fusion: Fusion = Fusion()
    length_bonus: float = 0.0
    coverage_weight: float = 0.0
    coverage_threshold: float = 0.5
    ctc_weight: float = 0.0
    end_threshold: float | None = None


class Ended(NamedTuple):
    """A hypothesis that has ended. peaks: frame of the highest attention weight of each label."""

    labels: tuple[int, ...]
    peaks: tuple[int, ...]
    score: float


class LabelBeam:
    """Search of whole utterances; the hypotheses of one do not depend on the others of its batch.

    end: the last symbol. beam: hypotheses kept, open and ended.
    """

    def __init__(self, decoder: LabelDecoder, end: int, beam: int, scoring: Scoring | None = None) -> None:
        scoring = scoring or Scoring()
        self._beam = beam
        self._decoder = JointDecoder(decoder, scoring.ctc_weight)
        self._model = scoring.fusion.model
        self._scoring = LabelScoring(
            scoring.fusion.gains(end + 1, scoring.length_bonus).tolist(),
            scoring.fusion.weight,
            scoring.fusion.most_gain,
            scoring.fusion.most_ahead,
            scoring.coverage_weight,
            scoring.coverage_threshold,
            scoring.end_threshold,
        )

    def search(self, encoded: Sequence[NDArray[np.float32]]) -> list[list[Ended]]:
        """Return the best `beam` hypotheses of each utterance [frames >= 1, size], best first.

        A hypothesis has at most as many labels as the utterance has frames. None has ended, and the list is empty, only
        where all have probability 0. Raises BadLogProbs.
        """
        hypotheses = LabelHypotheses([len(one) for one in encoded], self._beam, self._scoring)
        state = self._decoder.begin(encoded)
        beside, fused = None, self._model.begin(len(encoded)) if self._model else None
        while True:
            before, parents = hypotheses.before, hypotheses.parents
            log_probs, attention, state = self._decoder.next(before, parents, state)
            if self._model:
                beside, fused = self._model.next(before, parents, fused)
            try:
                if not hypotheses.advance(log_probs, attention, beside):
                    break
            except ValueError as error:
                raise BadLogProbs(str(error)) from None
        return [[Ended(*one) for one in found] for found in hypotheses.finish()]
