"""Beam search of a model with monotonic attention, frame by frame, while the audio runs.

A hypothesis without the end waits for the frame that its next label attends to. The frame depends on the labels before
alone, so at any frame the waiting and the ended hypotheses are disjoint events, whose probabilities sum to 1: prefixes
of different lengths compare by them, and the best is an interim result. With a frame each waiting hypothesis stays as
it is, or attends and is replaced by its extensions. These are offered the same frame, at most `LABELS_A_FRAME` times,
which bounds a frame's cost. After the last frame all attend to nothing, as often, and end.

The score of a hypothesis is a sum over its labels, the end among them, as in `label_beam`:

    sum over l of [log P(y_l | x, y_<l) - lambda_p log P(y_l) + lambda_lm log P_lm(y_l | y_<l)]     (Kim 2019, Eq. 3)
        + length_bonus x number of labels.

What fusion adds stands beside the probabilities above, in the comparison of prefixes too. After the last frame joint
CTC rescores the hypotheses that have ended, where it has a weight w: log P(y | x) is (1 - w) times that of the heads +
w times that of CTC (Watanabe 2017, rescoring). Nothing but the beam, in which CTC has no voice, and that bound
approximates. A hypothesis may end only where `ends.py` says; probabilities are those among the hypotheses that are
left.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.beam_entries import Labels, highest, spelt
from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.ctc_rescoring import ctc_log_prob
from sonorant.decoding.ends import end_margins
from sonorant.decoding.hypothesis import Hypothesis, UnitPath, best_text, n_best
from sonorant.decoding.label_decoder import Fusion
from sonorant.decoding.label_gains import LabelGains
from sonorant.decoding.monotonic_decoder import LABELS_A_FRAME, Heard, MonotonicDecoder, States
from sonorant.text.units import Units

__all__ = ["MonotonicSearch"]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Hypotheses that seek a frame.

    scores: Float64[N]; log_probs: Float64[N], those of the decoder alone; labels: N; states: of the decoder, N rows
    each; gains: those of `LabelGains` after the labels.
    """

    scores: NDArray[np.float64]
    log_probs: NDArray[np.float64]
    labels: list[Labels]
    states: States
    gains: States

    def take(self, rows: NDArray[np.int64]) -> "_Waiting":
        labels = [self.labels[row] for row in rows.tolist()]
        states, gains = _rows(self.states, rows), _rows(self.gains, rows)
        return _Waiting(self.scores[rows], self.log_probs[rows], labels, states, gains)

    def join(self, others: "_Waiting") -> "_Waiting":
        scores, log_probs = _joined((self.scores, self.log_probs), (others.scores, others.log_probs))
        states, gains = _joined(self.states, others.states), _joined(self.gains, others.gains)
        return _Waiting(scores, log_probs, self.labels + others.labels, states, gains)


class _Ended(NamedTuple):
    """A hypothesis with its end; log_prob: that of the decoder alone."""

    score: float
    log_prob: float
    labels: Labels


class MonotonicSearch:
    """A `Search` that is pushed encoded frames, whose hypotheses appear as they arrive.

    A unit is where its head stopped. frame_seconds: time from one frame to the next; beam: hypotheses kept, waiting and
    ended, as many of each; fusion: language model, phrases and prior; end_threshold: see `end_margins`; ctc_weight: in
    [0, 1), that of joint CTC.
    """

    def __init__(
        self,
        decoder: MonotonicDecoder,
        units: Units,
        frame_seconds: float,
        beam: int,
        length_bonus: float = 0.0,
        fusion: Fusion | None = None,
        end_threshold: float | None = None,
        ctc_weight: float = 0.0,
    ) -> None:
        self._decoder = decoder
        self._units = units
        self._frame_seconds = frame_seconds
        self._beam = beam
        self._gains = LabelGains(units.size + 1, fusion, length_bonus)
        self._end = units.size
        self._end_threshold = end_threshold
        self._ctc_weight = ctc_weight
        self._encoded: list[NDArray[np.float32]] = []  # all frames, for joint CTC
        self._window: NDArray[np.float32] | None = None  # the last frames, at most as many as the decoder needs
        self._frames = 0
        self._finished = False
        states = decoder.seek(np.array([self._end], np.int32), decoder.begin())
        self._waiting = _Waiting(np.zeros(1), np.zeros(1), [None], states, self._gains.begin())
        self._ended: list[_Ended] = []
        self._nearest = -math.inf, _Ended(-math.inf, -math.inf, None)  # margin of who may not end, and it

    @property
    def frames(self) -> int:
        """Encoded frames searched so far."""
        return self._frames

    def push(self, outputs: NDArray[np.floating[Any]]) -> None:
        """Search the next encoded frames [frames, size]; raises BadLogProbs for NaN, and after `finish`."""
        if self._finished:
            raise BadLogProbs("frames after finish(): a search is for one utterance; make a new one")
        if np.isnan(outputs).any():
            raise BadLogProbs(f"encoded frames {self._frames}..{self._frames + len(outputs) - 1} have NaN values")
        encoded = outputs.astype(np.float32)
        if self._ctc_weight:
            self._encoded.append(encoded)
        for frame in encoded:
            before = frame[:0].reshape(0, len(frame)) if self._window is None else self._window
            self._window = np.concatenate([before, frame[np.newaxis]])[-self._decoder.window :]
            self._offer(Heard(self._window, self._frames + 1, over=False))
            self._frames += 1

    def finish(self) -> None:
        """End the utterance: what still waits attends to nothing."""
        self._finished = True
        if self._window is not None:
            over = Heard(self._window, self._frames, over=True)
            left = self._offer(over)
            if left.labels:
                _, log_probs, _ = self._look(over, left)
                self._end_all(left, log_probs)
        if not self._ended and self._nearest[1].score > -math.inf:
            self._ended = [self._nearest[1]]
        if self._ended:
            self._waiting = self._waiting.take(np.empty(0, np.int64))
            self._ended = self._rescored() if self._encoded else self._ended

    def hypotheses(self, n: int = 1, *, words: bool = True) -> list[Hypothesis]:
        """Return the `n` most probable transcripts so far, best first, with or without `words`; never empty."""
        paths = [
            UnitPath(labels, tuple((frame, frame) for frame in frames), posterior)
            for (labels, frames), posterior in ((spelt(labels), p) for labels, p in self._posteriors())
        ]
        if not paths:
            return [Hypothesis((), "", (), 0.0)]
        return n_best(paths, self._units, self._frame_seconds, n, words=words)

    def text(self) -> str:
        """Return the most probable text so far."""
        sequences = [(spelt(labels)[0], posterior) for labels, posterior in self._posteriors()]
        return best_text(sequences, self._units) if sequences else ""

    def _posteriors(self) -> list[tuple[Labels, float]]:
        """Return the hypotheses of the beam with their probabilities among them."""
        labels = [*self._waiting.labels, *(ended.labels for ended in self._ended)]
        scores = np.concatenate([self._waiting.scores, [ended.score for ended in self._ended]])
        posteriors = np.exp(scores - np.logaddexp.reduce(scores)) if len(scores) else scores
        return list(zip(labels, posteriors.tolist(), strict=True))

    def _offer(self, heard: Heard) -> _Waiting:
        """Offer the last frame to all that wait; return those that have attended to it most often."""
        offered, self._waiting = self._waiting, self._waiting.take(np.empty(0, np.int64))
        for _ in range(LABELS_A_FRAME):
            if not len(offered.labels):
                break
            attends, log_probs, states = self._look(heard, offered)
            looked = replace(offered, states=states)
            self._waiting = self._waiting.join(looked.take(np.flatnonzero(~attends)))
            offered = self._extended(looked.take(np.flatnonzero(attends)), log_probs[attends])
        self._waiting = self._waiting.join(offered)
        return offered

    def _look(self, heard: Heard, hypotheses: _Waiting) -> tuple[NDArray[np.bool_], NDArray[np.float64], States]:
        attends, log_probs, states = self._decoder.look(heard, hypotheses.states)
        if np.isnan(log_probs[attends]).any():
            raise BadLogProbs(f"log_probs of a label at encoded frame {self._frames} have NaN values")
        return attends, log_probs.astype(np.float64), states

    def _extended(self, attending: _Waiting, log_probs: NDArray[np.float64]) -> _Waiting:
        """End hypotheses that attend; return those of their extensions that are of the beam, and prune what waits."""
        self._end_all(attending, log_probs)
        scores = (attending.scores[:, np.newaxis] + (log_probs + attending.gains[0])[:, : self._end]).ravel()
        chosen = _possible(scores, self._beam)
        kept = _possible(np.concatenate([self._waiting.scores, scores[chosen]]), self._beam)
        waiting = len(self._waiting.labels)
        self._waiting = self._waiting.take(kept[kept < waiting])
        chosen = chosen[kept[kept >= waiting] - waiting]
        own = (attending.log_probs[:, np.newaxis] + log_probs[:, : self._end]).ravel()[chosen]
        parents, before = np.divmod(chosen, self._end)
        longer = attending.take(parents)
        frame = self._frames - 1 if self._finished else self._frames
        labels: list[Labels] = [(rest, y, frame) for rest, y in zip(longer.labels, before.tolist(), strict=True)]
        before = before.astype(np.int32)
        states = self._decoder.seek(before, longer.states) if labels else longer.states
        return _Waiting(scores[chosen], own, labels, states, self._gains.after(before, longer.gains))

    def _end_all(self, hypotheses: _Waiting, log_probs: NDArray[np.float64]) -> None:
        """End hypotheses that may, and keep the best; of the others, the one of the greatest margin."""
        gains = log_probs + hypotheses.gains[0]
        scores = (hypotheses.scores + gains[:, self._end]).tolist()
        own = (hypotheses.log_probs + log_probs[:, self._end]).tolist()
        margins = end_margins(log_probs, gains, self._end_threshold).tolist()
        for margin, *of_hypothesis in zip(margins, scores, own, hypotheses.labels, strict=True):
            ended = _Ended(*of_hypothesis)
            if margin > 0 and ended.score > -math.inf:
                self._ended.append(ended)
            elif ended.score > -math.inf and (margin, ended.score) > (self._nearest[0], self._nearest[1].score):
                self._nearest = margin, ended
        self._ended.sort(key=lambda one: -one.score)
        del self._ended[self._beam :]

    def _rescored(self) -> list[_Ended]:
        """Return the ended hypotheses with joint CTC in their scores; all as they are if CTC can spell none."""
        (frames,) = self._decoder.frame_log_probs([np.concatenate(self._encoded)])
        if np.isnan(frames).any():
            raise BadLogProbs("log_probs by frame have NaN values")
        rescored = []
        for ended in self._ended:
            of_ctc = ctc_log_prob(frames, spelt(ended.labels)[0])
            rescored.append(ended._replace(score=ended.score + self._ctc_weight * (of_ctc - ended.log_prob)))
        possible = [ended for ended in rescored if ended.score > -math.inf]
        return sorted(possible, key=lambda one: -one.score) or self._ended


def _rows(states: States, rows: NDArray[np.int64]) -> States:
    return tuple(state[rows] for state in states)


def _joined(states: States, others: States) -> States:
    return tuple(np.concatenate(pair) for pair in zip(states, others, strict=True))


def _possible(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` highest that are possible."""
    among = np.flatnonzero(scores > -math.inf)
    found: NDArray[np.int64] = among[highest(scores[among], count)]
    return found
