"""What a label-synchronous search drives: a model's decoder, and language models beside it."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fusion", "LabelDecoder", "LabelModel", "SequenceModel"]


class LabelDecoder(Protocol):
    """Decoder of a model. Labels are its symbols, the last of which is the end; it also stands before the first label.

    A state is opaque, and never changed.
    """

    def begin(self, encoded: Sequence[NDArray[np.float32]]) -> Any:
        """Return the state before the first label of B >= 1 utterances [frames, size], each with one hypothesis."""
        ...

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], Any]:
        """Return log-probabilities [B, K, symbols] of what follows, attention weights [B, K, frames], and the state.

        before: Int32[B, K], the last label of each hypothesis. parents: Int32[B, K], which of the hypotheses in `state`
        each one extends by it.
        """
        ...

    def frame_log_probs(self, encoded: Sequence[NDArray[np.float32]]) -> Sequence[NDArray[np.float32]]:
        """Return log-probabilities [frames, units + 1] of units and blank of each utterance, as CTC has them.

        Only a model with joint CTC has such.
        """
        ...


class LabelModel(Protocol):
    """Scores of the same symbols, the end among them, beside the decoder's: such as a language model's."""

    def begin(self, batch: int) -> Any:
        """Return the state before the first label of so many utterances, each with one hypothesis."""
        ...

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: Any
    ) -> tuple[NDArray[np.float64], Any]:
        """Return log P(y | those before), [B, K, symbols], and the state; arguments as those of `LabelDecoder`."""
        ...


class SequenceModel(LabelModel, Protocol):
    """A `LabelModel` that extends sequences one by one too, for searches whose hypotheses have any lengths."""

    def first_state(self) -> Any:
        """Return the state of one sequence before its first label: opaque, and never changed."""
        ...

    def extend(self, before: Sequence[int], states: Sequence[Any]) -> tuple[NDArray[np.floating[Any]], list[Any]]:
        """Return log P(y | those before) of N >= 1 sequences of any lengths, [N, symbols], and the state of each.

        before: the last label of each, the end before the first one. states: those before that label. What a sequence
        gets does not depend on the others, bit for bit.
        """
        ...


class Fusion(NamedTuple):
    """Shallow fusion (Kim 2019, Eq. 3): a label y adds log P(y | x) - prior_weight log P(y) + weight log P_lm(y).

    prior: log P(y), Float64[symbols], of labels without context in the training's transcripts; None: none. model: the
    language model; None: none. most_gain, most_ahead: upper bounds of what the model adds for each further label, and
    once beside: 0 for probabilities.
    """

    prior: NDArray[np.float64] | None = None
    prior_weight: float = 0.0
    model: SequenceModel | None = None
    weight: float = 0.0
    most_gain: float = 0.0
    most_ahead: float = 0.0

    def gains(self, symbols: int, length_bonus: float) -> NDArray[np.float64]:
        """Return what each symbol adds wherever it stands, Float64[symbols]: prior, and bonus of all but the end."""
        gains = np.full(symbols, length_bonus)
        gains[-1] = 0.0
        if self.prior is not None:
            gains -= self.prior_weight * self.prior
        return gains
