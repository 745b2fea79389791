"""Beam search of a model with monotonic attention, frame by frame, while the audio runs.

A hypothesis without the end waits for the frame that its next label attends to. The frame depends on the labels before
alone, so at any frame the waiting and the ended hypotheses are disjoint events, whose probabilities sum to 1: prefixes
of different lengths compare by them, and the best is an interim result. With a frame each waiting hypothesis stays as
it is, or attends and is replaced by its extensions. These are offered the same frame, at most `LABELS_A_FRAME` times,
which bounds a frame's cost. After the last frame all attend to nothing, as often, and end.

The score of a hypothesis is a sum over its labels, the end among them, as in `label_beam`:

    sum over l of [log P(y_l | x, y_<l) - lambda_p log P(y_l) + lambda_lm log P_lm(y_l | y_<l)]     (Kim 2019, Eq. 3)
        + length_bonus x number of labels.

What fusion adds stands beside the probabilities above, in the comparison of prefixes too. With joint CTC log P(y | x)
is (1 - w) times that of the heads + w times that of CTC, in one pass: of a waiting hypothesis log psi (Watanabe 2017,
algorithm 2) by the frames so far, of an ended one the log-probability that these spell it, so that after the last frame
the sum is that of the search by label. Nothing but the beam and that bound approximates. A hypothesis may end only
where `ended_labels.hpp` says, by the heads alone; probabilities are those among the hypotheses that are left. All but
the decoder's states is compiled: `monotonic_hypotheses.hpp`, `arriving_ctc.hpp`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.hypothesis import Hypothesis, UnitPath, best_text, n_best
from sonorant.decoding.kernels import MonotonicHypotheses
from sonorant.decoding.label_decoder import Fusion
from sonorant.decoding.label_gains import LabelGains
from sonorant.decoding.monotonic_decoder import LABELS_A_FRAME, Heard, MonotonicDecoder, States
from sonorant.text.units import Units

__all__ = ["MonotonicSearch"]


class _Rows(NamedTuple):
    """Of N hypotheses what they need to go on: states of the decoder, and gains, those of `LabelGains` after them."""

    states: States
    gains: States

    def take(self, rows: NDArray[np.integer[Any] | np.bool_]) -> "_Rows":
        return _Rows(*(tuple(array[rows] for array in arrays) for arrays in self))

    def join(self, others: "_Rows") -> "_Rows":
        pairs = zip(self, others, strict=True)
        return _Rows(*(tuple(np.concatenate(both) for both in zip(*pair, strict=True)) for pair in pairs))


class MonotonicSearch:
    """A `Search` that is pushed encoded frames, whose hypotheses appear as they arrive.

    A unit is where its head stopped. frame_seconds: time from one frame to the next; beam: hypotheses kept, waiting and
    ended, as many of each; fusion: language model, phrases and prior; end_threshold, ctc_weight: see `Scoring`.
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
        self._gains = LabelGains(units.size + 1, fusion, length_bonus)
        self._ctc_weight = ctc_weight
        self._window: NDArray[np.float32] | None = None  # the last frames, at most as many as the decoder needs
        self._frames = 0
        self._finished = self._failed = False
        self._hypotheses = MonotonicHypotheses(units.size + 1, beam, end_threshold, ctc_weight)
        first = np.array([units.size], np.int32)
        self._waiting = _Rows(decoder.seek(first, decoder.begin()), self._gains.begin())

    @property
    def frames(self) -> int:
        """Encoded frames searched so far."""
        return self._frames

    def push(self, outputs: NDArray[np.floating[Any]]) -> None:
        """Search the next encoded frames [frames, size]; raises BadLogProbs for NaN, and after `finish`.

        Where decoder or language model fail, the search has, and so do later calls of `push` and `finish`.
        """
        if self._finished:
            raise BadLogProbs("frames after finish(): a search is for one utterance; make a new one")
        if np.isnan(outputs).any():
            raise BadLogProbs(f"encoded frames {self._frames}..{self._frames + len(outputs) - 1} have NaN values")
        encoded = outputs.astype(np.float32)
        with self._whole():
            for frame in encoded:
                before = frame[:0].reshape(0, len(frame)) if self._window is None else self._window
                self._window = np.concatenate([before, frame[np.newaxis]])[-self._decoder.window :]
                if self._ctc_weight:
                    self._hear(self._window[-1:])
                self._offer(Heard(self._window, self._frames + 1, over=False))
                self._frames += 1

    def finish(self) -> None:
        """End the utterance: what still waits attends to nothing. More calls change nothing; raises BadLogProbs."""
        if self._finished:
            return
        with self._whole():
            if self._window is not None:
                self._offer(Heard(self._window, self._frames, over=True))
            self._hypotheses.finish()
        self._finished = True

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Let the search have failed if what is done in it does: hypotheses and their rows no longer agree."""
        if self._failed:
            raise BadLogProbs("this search has failed: what it has found is not that of its frames; make a new one")
        self._failed = True
        yield
        self._failed = False

    def hypotheses(self, n: int = 1, *, words: bool = True) -> list[Hypothesis]:
        """Return the `n` most probable transcripts so far, best first, with or without `words`; never empty."""
        paths = [
            UnitPath(units, tuple((frame, frame) for frame in frames), posterior)
            for units, frames, posterior in self._posteriors()
        ]
        if not paths:
            return [Hypothesis((), "", (), 0.0)]
        return n_best(paths, self._units, self._frame_seconds, n, words=words)

    def text(self) -> str:
        """Return the most probable text so far."""
        sequences = [(units, posterior) for units, _, posterior in self._posteriors()]
        return best_text(sequences, self._units) if sequences else ""

    def _posteriors(self) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
        """Return units, frames and probability of the hypotheses of the beam, waiting and ended."""
        every = [*self._hypotheses.waiting(), *self._hypotheses.ended()]
        scores = np.array([score for *_, score in every])
        posteriors = np.exp(scores - np.logaddexp.reduce(scores)).tolist() if every else []
        return [(*one[:2], posterior) for one, posterior in zip(every, posteriors, strict=True)]

    def _hear(self, frame: NDArray[np.float32]) -> None:
        """Let joint CTC hear a frame [1, size], alone, so that its numbers do not depend on how frames are pushed."""
        (log_probs,) = self._decoder.frame_log_probs([frame])
        with _refusing():
            self._hypotheses.hear(log_probs[0])

    def _offer(self, heard: Heard) -> None:
        """Offer the last frame, or the end behind it, to all that wait, and to their extensions."""
        frame = self._frames - heard.over
        offered = self._hypotheses.offer()
        rows, waiting = self._waiting, self._waiting.take(np.empty(0, np.int64))
        for _ in range(LABELS_A_FRAME):
            if not offered:
                break
            attends, log_probs, states = self._decoder.look(heard, rows.states)
            with _refusing():
                waits, parents, labels = self._hypotheses.attend(attends, log_probs, rows.gains[0], frame)
            looked = _Rows(states, rows.gains)
            waiting, rows = waiting.join(looked).take(waits), self._longer(looked.take(parents), labels)
            offered = len(labels)
        if heard.over and offered:
            _, log_probs, _ = self._decoder.look(heard, rows.states)
            with _refusing():
                self._hypotheses.end(log_probs, rows.gains[0], frame)
        self._hypotheses.rest()
        self._waiting = waiting.join(rows)

    def _longer(self, rows: _Rows, labels: NDArray[np.int32]) -> _Rows:
        """Return what hypotheses need after one more label."""
        states = self._decoder.seek(labels, rows.states) if len(labels) else rows.states
        return _Rows(states, self._gains.after(labels, rows.gains))


@contextmanager
def _refusing() -> Iterator[None]:
    """Raise BadLogProbs for what the kernel refuses."""
    try:
        yield
    except ValueError as error:
        raise BadLogProbs(str(error)) from None
