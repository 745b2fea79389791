"""A language model for searches, which know arrays only.

`language_model_functions` gives the functions of a model, in memory or saved with an export; `TensorLanguageModel`
makes of them what searches take, but for the units (`sonorant.decoding.neural_fusion.NeuralModel`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.models.language_model import LanguageModel
from sonorant.models.tensor_decoder import common_shape, numbered
from sonorant.tensorflow import graph_function, tf

__all__ = ["TensorLanguageModel", "language_model_functions"]

_State = dict[str, Any]

# Sequences in a call of `extend`, always as many: sums in a matrix product, and with them the last bits, depend on its
# size, but not on the other rows or on a row's place. Of an LSTM with 2 x 512 cells and 1,000 units one row took 1.4
# ms, 8 took 2.9, 16 took 4.0, and 32 took 5.8; 16 divide into the vectors of any processor, without a rest.
_TILE = 16


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

    def first_state(self) -> _State:
        """See `NeuralModel`: arrays [1, ...] by name."""
        return {name: tensor.numpy()[0] for name, tensor in self.begin(1).items()}

    def extend(self, before: Sequence[int], states: Sequence[_State]) -> tuple[NDArray[np.float32], list[_State]]:
        """See `NeuralModel`; sequences whose states are of one size share calls."""
        log_probs: list[Any] = [None] * len(before)
        after: list[_State] = [{} for _ in before]
        for tile in _tiles(states):
            full = tile + tile[:1] * (_TILE - len(tile))
            last = np.array([[before[i]] for i in full], np.int32)
            stacked = {name: np.stack([states[i][name] for i in full]) for name in states[tile[0]]}
            found = self._functions["lm_next"](
                before=tf.constant(last),
                parents=tf.zeros((_TILE, 1), tf.int32),
                **{name: tf.constant(array) for name, array in stacked.items()},
            )
            rows = {name: tensor.numpy() for name, tensor in found.items()}
            for row, i in enumerate(tile):
                log_probs[i] = rows["log_probs"][row, 0]
                after[i] = {name: rows[name][row].copy() for name in stacked}  # a view would keep the whole tile
        return np.stack(log_probs), after


def _tiles(states: Sequence[_State]) -> list[list[int]]:
    """Return the numbers of states, at most `_TILE` of one size together."""
    by_size: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for i, state in enumerate(states):
        by_size.setdefault(tuple(state[name].shape for name in sorted(state)), []).append(i)
    return [same[first : first + _TILE] for same in by_size.values() for first in range(0, len(same), _TILE)]


def language_model_functions(model: LanguageModel) -> dict[str, Any]:
    """Return `lm_begin` and `lm_next`, of any number of sentences and hypotheses.

    `lm_begin` takes the number of sentences, `batch`, and returns the state of one hypothesis of each, as `state_0`,
    .... `lm_next` takes that, the labels `before` and, of each hypothesis, the one in the state that it extends
    (`parents`), Int32[B, K] both, and returns `log_probs` Float32[B, K, symbols] and the state after.
    """

    def begin(batch: tf.Tensor) -> _State:
        return numbered("state", model.begin(batch, 1))

    def advance(before: tf.Tensor, parents: tf.Tensor, *state: tf.Tensor) -> _State:
        extended = [tf.gather(tensor, parents, batch_dims=1) for tensor in state]
        log_probs, after = model.next_label(before, extended)
        return {"log_probs": log_probs} | numbered("state", after)

    pairs = enumerate(zip(_state_after(model, 1), _state_after(model, 2), strict=True))
    specs = [tf.TensorSpec(common_shape(one, other), one.dtype, f"state_{i}") for i, (one, other) in pairs]
    labels = [tf.TensorSpec([None, None], tf.int32, name) for name in ("before", "parents")]
    return {
        "lm_begin": graph_function(begin, input_signature=[tf.TensorSpec([], tf.int32, "batch")]),
        "lm_next": graph_function(advance, input_signature=[*labels, *specs]),
    }


def _state_after(model: LanguageModel, size: int) -> list[tf.Tensor]:
    """Return the state of `size` sentences with `size` hypotheses after as many labels."""
    state = model.begin(size, size)
    for _ in range(size):
        _, state = model.next_label(tf.fill((size, size), model.end), state)
    return state
