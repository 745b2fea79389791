"""Label-synchronous beam search, batched over utterances and hypotheses.

All hypotheses of a step have the same number of labels. The score of one is a sum over its labels, the end among them:

    sum over l of [log P(y_l | x, y_<l) - lambda_p log P(y_l) + lambda_lm log P_lm(y_l | y_<l)]     (Kim 2019, Eq. 3)
        + length_bonus x number of labels + coverage_weight x coverage,

where log P(y_l | x, y_<l) is that of `JointDecoder`, and coverage is the number of encoded frames whose attention,
summed over the labels, exceeds a threshold (Chorowski 2017, Eq. 11). A hypothesis of the beam may end where `ends.py`
says, by log P(y_l | x, y_<l) alone; where none of an utterance may, the one that came nearest to it has ended. An
utterance is over when no open hypothesis can come before the last of `beam` ended ones, so that nothing but the beam
approximates.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.beam_entries import Labels, highest, spelt
from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.ends import end_margins
from sonorant.decoding.joint_decoder import JointDecoder
from sonorant.decoding.label_decoder import Fusion, LabelDecoder

__all__ = ["Ended", "LabelBeam", "Scoring"]

_Floats: TypeAlias = NDArray[np.float64]


class Scoring(NamedTuple):
    """What adds to a decoder's log-probabilities; see the module.

    ctc_weight: in [0, 1); end_threshold: see `end_margins`.
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


class _Open(NamedTuple):
    """The open hypotheses of a batch.

    scores: Float64[B, K], coverage aside, -inf where there is none. before, parents: Int32[B, K], the last label, and
    the hypothesis of the step before that it extends. attended: Float64[B, K, frames], attention summed over labels.
    labels: K of each utterance.
    """

    scores: _Floats
    before: NDArray[np.int32]
    parents: NDArray[np.int32]
    attended: _Floats
    labels: list[list[Labels]]


class LabelBeam:
    """Search of whole utterances; the hypotheses of one do not depend on the others of its batch.

    end: the last symbol. beam: hypotheses kept, open and ended.
    """

    def __init__(self, decoder: LabelDecoder, end: int, beam: int, scoring: Scoring | None = None) -> None:
        self._end = end
        self._beam = beam
        self._scoring = scoring or Scoring()
        self._decoder = JointDecoder(decoder, self._scoring.ctc_weight)
        self._gains = self._scoring.fusion.gains(end + 1, self._scoring.length_bonus)

    def search(self, encoded: Sequence[NDArray[np.float32]]) -> list[list[Ended]]:
        """Return the best `beam` hypotheses of each utterance [frames >= 1, size], best first.

        A hypothesis has at most as many labels as the utterance has frames. None has ended, and the list is empty, only
        where all have probability 0. Raises BadLogProbs.
        """
        frames = [len(one) for one in encoded]
        ended: list[list[Ended]] = [[] for _ in encoded]
        nearest: list[tuple[float, float, Labels]] = [(-math.inf, -math.inf, None) for _ in encoded]
        state = self._decoder.begin(encoded)
        fusion = self._scoring.fusion
        fused = fusion.model.begin(len(encoded)) if fusion.model else None
        hypotheses = self._start(frames)
        for number in range(max(frames) + 1):
            log_probs, weights, state = self._decoder.next(hypotheses.before, hypotheses.parents, state)
            if np.isnan(log_probs).any():
                raise BadLogProbs(f"log_probs of label {number} have NaN values")
            gains = log_probs + self._gains
            if fusion.model:
                scores, fused = fusion.model.next(hypotheses.before, hypotheses.parents, fused)
                if np.isnan(scores).any():
                    raise BadLogProbs(f"scores beside the decoder's have NaN values at label {number}")
                gains += fusion.weight * scores
            hypotheses = hypotheses._replace(attended=hypotheses.attended + weights)
            left = np.array([most - number for most in frames])
            margins = end_margins(log_probs, gains, self._scoring.end_threshold)
            self._end_all(hypotheses, gains[..., self._end], margins, ended, nearest)
            hypotheses = self._extend(hypotheses, gains, weights, left > 0)
            for utterance in np.flatnonzero(self._is_over(hypotheses, ended, left)):
                hypotheses.scores[utterance] = -math.inf
            if not np.isfinite(hypotheses.scores).any():
                break
        return [
            found or ([Ended(*spelt(labels), score)] if score > -math.inf else [])
            for found, (_, score, labels) in zip(ended, nearest, strict=True)
        ]

    def _start(self, frames: Sequence[int]) -> _Open:
        """Return one open hypothesis without labels for each utterance."""
        batch = len(frames)
        return _Open(
            scores=np.zeros((batch, 1)),
            before=np.full((batch, 1), self._end, np.int32),
            parents=np.zeros((batch, 1), np.int32),
            attended=np.zeros((batch, 1, max(frames))),
            labels=[[None] for _ in frames],
        )

    def _end_all(
        self,
        hypotheses: _Open,
        ends: _Floats,
        margins: _Floats,
        ended: list[list[Ended]],
        nearest: list[tuple[float, float, Labels]],
    ) -> None:
        """End open hypotheses that may, and keep the best; of the others, the one of the greatest margin.

        ends: what the end adds, [B, K]. nearest: margin, score and labels for each utterance.
        """
        scores = hypotheses.scores + ends + self._coverage(hypotheses.attended)
        for utterance, found in enumerate(ended):
            floor = found[-1].score if len(found) == self._beam else -math.inf
            of_utterance = hypotheses.labels[utterance], scores[utterance].tolist(), margins[utterance].tolist()
            for labels, score, margin in zip(*of_utterance, strict=True):
                if margin > 0:
                    found += [Ended(*spelt(labels), score)] if score > floor else []
                elif score > -math.inf and (margin, score) > nearest[utterance][:2]:
                    nearest[utterance] = (margin, score, labels)
            found.sort(key=lambda one: -one.score)
            del found[self._beam :]

    def _extend(self, hypotheses: _Open, gains: _Floats, weights: NDArray[np.float32], may: NDArray[np.bool_]) -> _Open:
        """Return the best extensions by one label that is not the end; of utterances that may not have more, none."""
        scores = (hypotheses.scores[..., np.newaxis] + gains[..., : self._end]).reshape(len(may), -1)
        scores[~may] = -math.inf
        chosen = highest(scores, self._beam)
        parents, before = np.divmod(chosen, self._end)
        peaks = np.take_along_axis(weights.argmax(2), parents, 1)
        return _Open(
            scores=np.take_along_axis(scores, chosen, 1),
            before=before.astype(np.int32),
            parents=parents.astype(np.int32),
            attended=np.take_along_axis(hypotheses.attended, parents[..., np.newaxis], 1),
            labels=[
                [(labels[p], y, peak) for p, y, peak in zip(*chosen_of, strict=True)]
                for labels, *chosen_of in zip(
                    hypotheses.labels, parents.tolist(), before.tolist(), peaks.tolist(), strict=True
                )
            ],
        )

    def _is_over(self, hypotheses: _Open, ended: list[list[Ended]], left: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return of each utterance whether `beam` hypotheses have ended that no open one can come before.

        left: labels that may still follow. Log-probabilities add nothing, so that only the other terms may gain.
        """
        fusion = self._scoring.fusion
        most_of_label = float(self._gains[: self._end].max(initial=0.0)) + fusion.weight * fusion.most_gain
        most_of_end = float(self._gains[self._end]) + fusion.weight * (fusion.most_gain + fusion.most_ahead)
        most = hypotheses.scores.max(1) + max(0.0, most_of_label) * left + max(0.0, most_of_end)
        if self._scoring.coverage_weight > 0:
            most += self._scoring.coverage_weight * hypotheses.attended.shape[2]
        floors = [found[-1].score if len(found) == self._beam else -math.inf for found in ended]
        over: NDArray[np.bool_] = most <= np.array(floors)
        return over

    def _coverage(self, attended: _Floats) -> _Floats:
        if not self._scoring.coverage_weight:
            return np.zeros(attended.shape[:2])
        covered: NDArray[np.int64] = (attended > self._scoring.coverage_threshold).sum(2)
        return self._scoring.coverage_weight * covered
