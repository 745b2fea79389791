"""Search of one utterance by a label-synchronous model: it begins when the utterance is over."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.frames_in_order import in_order
from sonorant.decoding.hypothesis import Hypothesis, UnitPath, best_text, n_best
from sonorant.decoding.label_beam import Ended, LabelBeam, Scoring
from sonorant.decoding.label_decoder import LabelDecoder
from sonorant.text.units import Units

__all__ = ["LabelSearch", "search_in_batches", "unit_paths"]

_BATCH = 32


class LabelSearch:
    """A `Search` that is pushed encoded frames; until `finish` its only hypothesis is the empty one.

    A unit is where its attention weight is highest, but never before the unit before it: so times are of encoded
    frames, and a word made of one unit lasts one. frame_seconds: time from one of them to the next.
    """

    def __init__(
        self, decoder: LabelDecoder, units: Units, frame_seconds: float, beam: int, scoring: Scoring | None = None
    ) -> None:
        self._units = units
        self._frame_seconds = frame_seconds
        self._beam = LabelBeam(decoder, units.size, beam, scoring)
        self._encoded: list[NDArray[np.float32]] = []
        self._ended: list[Ended] = []
        self._finished = False

    @property
    def frames(self) -> int:
        """Encoded frames so far."""
        return sum(map(len, self._encoded))

    def push(self, outputs: NDArray[np.floating[Any]]) -> None:
        """Take in encoded frames [frames, size]; raises BadLogProbs after `finish`."""
        if self._finished:
            raise BadLogProbs("frames after finish(): a search is for one utterance; make a new one")
        self._encoded.append(outputs.astype(np.float32))

    def finish(self) -> None:
        """Search; raises BadLogProbs if the decoder gives what is none."""
        self._finished = True
        if self.frames:
            (self._ended,) = self._beam.search([np.concatenate(self._encoded)])

    def hypotheses(self, n: int = 1, *, words: bool = True) -> list[Hypothesis]:
        """Return the `n` most probable transcripts, best first, with or without `words`; never empty."""
        return _hypotheses(self._ended, self.frames, self._units, self._frame_seconds, n, words=words)

    def text(self) -> str:
        """Return the most probable text."""
        if not self._ended:
            return ""
        return best_text([(path.units, path.probability) for path in unit_paths(self._ended)], self._units)


def search_in_batches(
    beam: LabelBeam, units: Units, frame_seconds: float, utterances: Sequence[NDArray[np.float32]], n: int = 1
) -> list[list[Hypothesis]]:
    """Return what a `LabelSearch` of each utterance [frames, size] finds; those of similar length share a batch.

    Raises BadLogProbs if the decoder gives what is none.
    """
    ended: list[list[Ended]] = [[] for _ in utterances]
    order = sorted((i for i, frames in enumerate(utterances) if len(frames)), key=lambda i: len(utterances[i]))
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        for i, found in zip(batch, beam.search([utterances[i] for i in batch]), strict=True):
            ended[i] = found
    return [
        _hypotheses(found, len(frames), units, frame_seconds, n)
        for found, frames in zip(ended, utterances, strict=True)
    ]


def _hypotheses(
    ended: list[Ended], frames: int, units: Units, frame_seconds: float, n: int, *, words: bool = True
) -> list[Hypothesis]:
    if not ended:
        return [Hypothesis((), "", (), 0.0 if frames else 1.0)]
    return n_best(unit_paths(ended), units, frame_seconds, n, words=words)


def unit_paths(ended: list[Ended]) -> list[UnitPath]:
    """Return ended hypotheses with their posteriors among themselves, and the frame of each unit."""
    scores = np.array([one.score for one in ended])
    posteriors = np.exp(scores - np.logaddexp.reduce(scores)).tolist()
    return [
        UnitPath(one.labels, tuple((frame, frame) for frame in in_order(one.peaks)), posterior)
        for one, posterior in zip(ended, posteriors, strict=True)
    ]
