"""Shallow fusion with a neural language model of the same units (Kim 2019, Eq. 3).

A search adds alpha log P_lm(y | the labels before) to the score of each label y as it extends a hypothesis by it, the
end of the sentence included. A label-synchronous search extends all hypotheses by a label at a time: `FusedLabels`. In
other searches those that need the model at a frame have any lengths, and each has a state of its own: `label_gains.py`,
`prefix_states.py`. The score of words, beta, and phrases are compiled, and the same for both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.label_decoder import SequenceModel
from sonorant.errors import BadRecipe
from sonorant.text.units import Units

__all__ = ["FusedLabels", "NeuralFusion", "NeuralModel"]


class NeuralModel(SequenceModel, Protocol):
    """A `SequenceModel` that knows the units that its labels are."""

    @property
    def units(self) -> Units:
        """All symbols but the last, the end."""
        ...


@dataclass(frozen=True)
class NeuralFusion:
    """A language model and its weights.

    alpha: of its log-probability; beta: score of each word. Raises BadRecipe for weights out of range.
    """

    model: NeuralModel
    units: Units
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not (0 <= self.alpha < math.inf and math.isfinite(self.beta)):
            raise BadRecipe(f"alpha={self.alpha}, beta={self.beta}: must be finite, alpha >= 0")


class FusedLabels:
    """A `SequenceModel` of weighted scores: alpha log P_lm, and those of `beside`, words and phrases."""

    def __init__(self, fusion: NeuralFusion, beside: SequenceModel) -> None:
        self._fusion = fusion
        self._beside = beside

    def begin(self, batch: int) -> Any:
        """See `LabelModel`."""
        return self._fusion.model.begin(batch), self._beside.begin(batch)

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: Any
    ) -> tuple[NDArray[np.float64], Any]:
        """See `LabelModel`."""
        log_probs, after = self._fusion.model.next(before, parents, state[0])
        gains, beside = self._beside.next(before, parents, state[1])
        return self._fusion.alpha * log_probs + gains, (after, beside)

    def first_state(self) -> Any:
        """See `SequenceModel`."""
        return self._fusion.model.first_state(), self._beside.first_state()

    def extend(self, before: Sequence[int], states: Sequence[Any]) -> tuple[NDArray[np.float64], list[Any]]:
        """See `SequenceModel`."""
        of_model, of_beside = zip(*states, strict=True)
        log_probs, after = self._fusion.model.extend(before, of_model)
        gains, beside = self._beside.extend(before, of_beside)
        return self._fusion.alpha * log_probs.astype(np.float64) + gains, list(zip(after, beside, strict=True))
