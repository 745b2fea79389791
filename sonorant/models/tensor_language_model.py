"""A language model for searches, which know arrays only.

`language_model_functions` gives the functions of a model, in memory or saved with an export; `TensorLanguageModel`
makes of them what searches take (`sonorant.decoding.neural_fusion.SequenceModel`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.models.language_model import LanguageModel
from sonorant.models.tensor_decoder import common_shape, numbered
from sonorant.tensorflow import tf

__all__ = ["TensorLanguageModel", "language_model_functions"]

_State = dict[str, Any]


class TensorLanguageModel:
    """Holds no hypothesis' state, so threads may share it."""

    def __init__(self, functions: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
        """functions: of `language_model_functions`."""
        self._functions = functions

    def begin(self, batch: int) -> _State:
        """See `LabelModel`."""
        return self._functions["lm_begin"](batch=tf.constant(batch))

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: _State
    ) -> tuple[NDArray[np.float64], _State]:
        """See `LabelModel`."""
        labels = {"before": tf.constant(before, tf.int32), "parents": tf.constant(parents, tf.int32)}
        after = dict(self._functions["lm_next"](**labels, **state))
        return after.pop("log_probs").numpy().astype(np.float64), after

    def log_probs(self, sentences: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return log P of each of at least one sequence of labels with its end, Float64[sentences]."""
        lengths = np.array([len(labels) for labels in sentences], np.int32)
        padded = np.zeros((len(sentences), max(1, lengths.max())), np.int32)
        for i, labels in enumerate(sentences):
            padded[i, : lengths[i]] = labels
        found = self._functions["lm_whole"](labels=tf.constant(padded), lengths=tf.constant(lengths))
        whole: NDArray[np.float64] = found["log_probs"].numpy().astype(np.float64)
        return whole


def language_model_functions(model: LanguageModel) -> dict[str, Any]:
    """Return `lm_begin`, `lm_next` and `lm_whole`, of any number of sentences and hypotheses.

    `lm_begin` takes the number of sentences, `batch`, and returns the state of one hypothesis of each, as `state_0`,
    .... `lm_next` takes that, the labels `before` and, of each hypothesis, the one in the state that it extends
    (`parents`), Int32[B, K] both, and returns `log_probs` Float32[B, K, symbols] and the state after. `lm_whole` takes
    `labels` Int32[B, L] and their `lengths`, and returns `log_probs` Float32[B] of whole sentences.
    """

    def begin(batch: tf.Tensor) -> _State:
        return numbered("state", model.begin(batch, 1))

    def advance(before: tf.Tensor, parents: tf.Tensor, *state: tf.Tensor) -> _State:
        extended = [tf.gather(tensor, parents, batch_dims=1) for tensor in state]
        log_probs, after = model.next_label(before, extended)
        return {"log_probs": log_probs} | numbered("state", after)

    def whole(labels: tf.Tensor, lengths: tf.Tensor) -> _State:
        return {"log_probs": model.sentence_log_probs(labels, lengths)}

    pairs = enumerate(zip(_state_after(model, 1), _state_after(model, 2), strict=True))
    specs = [tf.TensorSpec(common_shape(one, other), one.dtype, f"state_{i}") for i, (one, other) in pairs]
    labels = [tf.TensorSpec([None, None], tf.int32, name) for name in ("before", "parents")]
    sentences = [tf.TensorSpec([None, None], tf.int32, "labels"), tf.TensorSpec([None], tf.int32, "lengths")]
    return {
        "lm_begin": tf.function(begin, input_signature=[tf.TensorSpec([], tf.int32, "batch")]),
        "lm_next": tf.function(advance, input_signature=[*labels, *specs]),
        "lm_whole": tf.function(whole, input_signature=sentences),
    }


def _state_after(model: LanguageModel, size: int) -> list[tf.Tensor]:
    """Return the state of `size` sentences with `size` hypotheses after as many labels."""
    state = model.begin(size, size)
    for _ in range(size):
        _, state = model.next_label(tf.fill((size, size), model.end), state)
    return state
