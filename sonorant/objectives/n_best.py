"""The N-best list of each utterance of a batch, by the model as it is, with the word errors of each hypothesis."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding import BadLogProbs, CtcBeamSearch, Scorer
from sonorant.models.batch_frames import batch_frames
from sonorant.models.batch_search import batch_search
from sonorant.models.family import Model
from sonorant.models.label_synchronous import LabelSynchronous
from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.tensorflow import tf
from sonorant.text.alignment import align
from sonorant.text.units import Units

__all__ = ["NBest"]

_Labels: TypeAlias = Sequence[int]
_Search: TypeAlias = Callable[[BatchTensors], list[list[_Labels]]]


class NBest:
    """Searches a batch for its N most probable transcripts, and counts their errors on words.

    Needs the target "labels", the references. It adds two:

    - "hypotheses": values Int32[B * N, L], the labels of the hypotheses, N rows an utterance; lengths Int32[B * N].
    - "errors": values Int32[B, N], substitutions, insertions and deletions of words; lengths Int32[B], how many
      hypotheses there are: fewer than N where the model gives no more any probability, none for a placeholder.
    """

    targets = ("hypotheses", "errors")

    def __init__(self, units: Units, size: int, end_threshold: float | None = None) -> None:
        """size: N, which is also the beam; end_threshold: of the search by label, see `Scoring`."""
        self._units = units
        self._size = size
        self._end_threshold = end_threshold
        self._scorer = Scorer(units)
        self._searches: dict[int, _Search] = {}

    def __call__(self, model: Model, batch: BatchTensors) -> dict[str, Padded]:
        """Return the targets; dropout is off, and no gradient goes through the search."""
        if id(model) not in self._searches:
            by_label = isinstance(model, LabelSynchronous)
            self._searches[id(model)] = self._by_label(model) if by_label else self._by_frame(model)
        found = self._searches[id(model)](batch)
        real = np.asarray(batch.weights) > 0
        labels, lengths = (np.asarray(one) for one in batch.targets["labels"])
        references = [self._units.text(row[:length].tolist()) for row, length in zip(labels, lengths, strict=True)]
        return self._padded(
            [hypotheses if one else [] for hypotheses, one in zip(found, real, strict=True)], references
        )

    def _by_label(self, model: LabelSynchronous) -> _Search:
        search = batch_search(model, self._size, self._end_threshold)
        return lambda batch: [[one.labels for one in ended] for ended in search(batch.features, batch.lengths)]

    def _by_frame(self, model: Model) -> _Search:
        frames_of = batch_frames(model)
        return lambda batch: [self._transcripts(frames) for frames in frames_of(batch.features, batch.lengths)]

    def _transcripts(self, log_probs: NDArray[np.float32]) -> list[_Labels]:
        """Return the labels of the transcripts of frames [frames, symbols], each text once, as it was found.

        Spelt as in a reference, a text of pieces may have more labels than there are frames, and no probability.
        """
        if not len(log_probs):
            return []
        beam = CtcBeamSearch(self._units, 1.0, self._size, self._units.size, scorer=self._scorer)
        try:
            beam.push(log_probs)
        except BadLogProbs:  # NaN, which the loss has too: the step says so
            return []
        beam.finish()
        return [one.units for one in beam.hypotheses(self._size, words=False)]

    def _padded(self, found: list[list[_Labels]], references: list[str]) -> dict[str, Padded]:
        longest = max((len(labels) for hypotheses in found for labels in hypotheses), default=0)
        values = np.zeros((len(found), self._size, max(1, longest)), np.int32)
        lengths = np.zeros((len(found), self._size), np.int32)
        errors = np.zeros((len(found), self._size), np.int32)
        for i, (hypotheses, reference) in enumerate(zip(found, references, strict=True)):
            for k, labels in enumerate(hypotheses):
                values[i, k, : len(labels)] = labels
                lengths[i, k] = len(labels)
                errors[i, k] = align(reference, self._units.text(labels)).errors
        counts = np.array([len(hypotheses) for hypotheses in found], np.int32)
        return {
            "hypotheses": Padded(tf.constant(values.reshape(-1, values.shape[2])), tf.constant(lengths.reshape(-1))),
            "errors": Padded(tf.constant(errors), tf.constant(counts)),
        }
