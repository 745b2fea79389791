"""Shallow fusion with a neural language model of the same units (Kim 2019, Eq. 3).

A label-synchronous search adds to each label's score, as it is extended, what `FusedLabels` gives: alpha
log P_lm(y_l | those before) + beta for a unit that starts a word, the end of the sentence included, and what phrases
add. A search of CTC has prefixes of different lengths at each frame; it is searched without the model, and its N-best
list is scored anew (`rescored_search.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.label_decoder import LabelModel
from sonorant.errors import BadRecipe
from sonorant.text.units import Units

__all__ = ["FusedLabels", "NeuralFusion", "NeuralModel", "SequenceModel"]


class SequenceModel(LabelModel, Protocol):
    """A `LabelModel` that scores whole sentences too; natural logarithms."""

    def log_probs(self, sentences: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return log P of each of at least one sequence of labels with its end, Float64[sentences]."""
        ...


class NeuralModel(SequenceModel, Protocol):
    """A `SequenceModel` that knows the units that its labels are."""

    @property
    def units(self) -> Units:
        """All symbols but the last, the end."""
        ...


@dataclass(frozen=True)
class NeuralFusion:
    """A language model and its weights.

    alpha: of its log-probability; beta: score of each unit that starts a word. Raises BadRecipe for weights out of
    range.
    """

    model: SequenceModel
    units: Units
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not (0 <= self.alpha < math.inf and math.isfinite(self.beta)):
            raise BadRecipe(f"alpha={self.alpha}, beta={self.beta}: must be finite, alpha >= 0")

    @property
    def word_scores(self) -> NDArray[np.float64]:
        """Float64[units + 1]: beta where a word starts, else 0; the last is the end."""
        starts = [self.units.starts_word(unit) for unit in range(self.units.size)]
        scores: NDArray[np.float64] = self.beta * np.array([*starts, False], np.float64)
        return scores

    def scores(self, sentences: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return what whole sentences gain, Float64[sentences]."""
        words = self.word_scores
        gains = [float(words[list(labels)].sum()) for labels in sentences]
        scores: NDArray[np.float64] = self.alpha * self.model.log_probs(sentences) + np.array(gains)
        return scores


class FusedLabels:
    """A `LabelModel` of weighted scores: those of a neural language model, and of `beside`, if there is one."""

    def __init__(self, fusion: NeuralFusion, beside: LabelModel | None = None) -> None:
        self._fusion = fusion
        self._words = fusion.word_scores
        self._beside = beside

    def begin(self, batch: int) -> Any:
        """See `LabelModel`."""
        return self._fusion.model.begin(batch), self._beside.begin(batch) if self._beside else None

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: Any
    ) -> tuple[NDArray[np.float64], Any]:
        """See `LabelModel`."""
        log_probs, after = self._fusion.model.next(before, parents, state[0])
        scores = self._fusion.alpha * log_probs + self._words
        if self._beside is None:
            return scores, (after, None)
        gains, beside = self._beside.next(before, parents, state[1])
        return scores + gains, (after, beside)
