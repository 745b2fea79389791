"""Gains beside a model's log-probabilities, of hypotheses that advance at different times.

The search by label extends all hypotheses of a batch at once. Those of monotonic attention attend at different frames,
so each has a state of its own, and hypotheses are picked and joined as rows of arrays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import BadLogProbs
from sonorant.decoding.label_decoder import Fusion
from sonorant.decoding.monotonic_decoder import States

__all__ = ["LabelGains"]


class LabelGains:
    """Gains of language model, phrases, prior and length bonus; immutable.

    Of N hypotheses it makes `States`: gains of each symbol as the next label, Float64[N, symbols], the end last; and
    with a language model its state, object[N].
    """

    def __init__(self, symbols: int, fusion: Fusion | None = None, length_bonus: float = 0.0) -> None:
        self._fusion = fusion or Fusion()
        self._of_symbols = self._fusion.gains(symbols, length_bonus)
        self._end = symbols - 1

    def begin(self) -> States:
        """Return the gains of one hypothesis, without labels."""
        model = self._fusion.model
        if model is None:
            return (self._of_symbols[np.newaxis],)
        return self._next([self._end], [model.first_state()])

    def after(self, before: NDArray[np.int32], states: States) -> States:
        """Return the gains after the labels `before`, Int32[N], none of them the end; states: those before."""
        if self._fusion.model is None or not len(before):
            return states
        return self._next(before.tolist(), states[1].tolist())

    def _next(self, before: list[int], states: list[Any]) -> States:
        model = self._fusion.model
        assert model is not None
        scores, after = model.extend(before, states)
        if np.isnan(scores).any():
            raise BadLogProbs("scores beside the decoder's have NaN values")
        return self._of_symbols + self._fusion.weight * scores, np.fromiter(after, object, len(after))
