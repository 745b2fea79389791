"""The decoder of a label-synchronous model, for searches, which know arrays only.

`decoder_functions` gives the two functions of a model, in memory or saved with an export; `TensorDecoder` makes of them
what a search drives (`sonorant.decoding.label_decoder.LabelDecoder`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.models.family import LabelSynchronous
from sonorant.tensorflow import tf

__all__ = ["TensorDecoder", "common_shape", "decoder_functions", "numbered"]

_Named: TypeAlias = dict[str, tf.Tensor]


class _State(NamedTuple):
    """Of a batch between two labels. memory, state: arguments of `decoder_next` by name."""

    memory: _Named
    state: _Named


class TensorDecoder:
    """Holds no utterance's state, so threads may share it."""

    def __init__(self, begin: Callable[..., _Named], advance: Callable[..., _Named]) -> None:
        """begin, advance: what `decoder_functions` calls `decoder_begin` and `decoder_next`."""
        self._begin = begin
        self._advance = advance

    def begin(self, encoded: Sequence[NDArray[np.float32]]) -> _State:
        """Return the state before the first label of utterances [frames, size], each with one hypothesis."""
        lengths = np.array([len(frames) for frames in encoded], np.int32)
        padded = np.zeros((len(encoded), lengths.max(), encoded[0].shape[1]), np.float32)
        for i, frames in enumerate(encoded):
            padded[i, : len(frames)] = frames
        tensors = self._begin(encoded=tf.constant(padded), lengths=tf.constant(lengths))
        return _State(_starting(tensors, "memory"), _starting(tensors, "state"))

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: _State
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], _State]:
        """See `LabelDecoder`."""
        tensors = self._advance(
            before=tf.constant(before, tf.int32), parents=tf.constant(parents, tf.int32), **state.memory, **state.state
        )
        after = _State(state.memory, _starting(tensors, "state"))
        return tensors["log_probs"].numpy(), tensors["attention"].numpy(), after

    def warm(self, encoded_size: int) -> None:
        """Call each function once, because the first call is slow."""
        one = np.zeros((1, 1), np.int32)
        self.next(one, one, self.begin([np.zeros((1, encoded_size), np.float32)]))


def decoder_functions(model: LabelSynchronous) -> dict[str, Any]:
    """Return `decoder_begin` and `decoder_next`, of any number of utterances and hypotheses.

    `decoder_begin` takes `encoded` Float32[B, T', size] and `lengths` Int32[B], and returns
    memory and the state of one hypothesis, as `memory_0`, ..., `state_0`, .... `decoder_next` takes these, the labels
    `before` and, of each hypothesis, the one in the state that it extends (`parents`), Int32[B, K] both, and returns
    `log_probs` Float32[B, K, symbols], `attention` Float32[B, K, T'] and the state after.
    """
    size = model.encoded_size

    def begin(encoded: tf.Tensor, lengths: tf.Tensor) -> _Named:
        memory, state = model.begin(encoded, lengths, 1)
        return numbered("memory", memory) | numbered("state", state)

    frames = [tf.TensorSpec([None, None, size], tf.float32, "encoded"), tf.TensorSpec([None], tf.int32, "lengths")]
    short, longer = (model.begin(tf.zeros((n, n, size)), tf.fill((n,), n), n) for n in (1, 2))
    specs = [
        tf.TensorSpec(common_shape(one, other), one.dtype, f"{kind}_{i}")
        for kind, ones, others in zip(("memory", "state"), short, longer, strict=True)
        for i, (one, other) in enumerate(zip(ones, others, strict=True))
    ]
    remembered = len(short[0])

    def advance(before: tf.Tensor, parents: tf.Tensor, *tensors: tf.Tensor) -> _Named:
        extended = [tf.gather(tensor, parents, batch_dims=1) for tensor in tensors[remembered:]]
        step = model.next_label(before, list(tensors[:remembered]), extended)
        return {"log_probs": step.log_probs, "attention": step.attention} | numbered("state", step.state)

    labels = [tf.TensorSpec([None, None], tf.int32, name) for name in ("before", "parents")]
    return {
        "decoder_begin": tf.function(begin, input_signature=frames),
        "decoder_next": tf.function(advance, input_signature=[*labels, *specs]),
    }


def common_shape(one: tf.Tensor, other: tf.Tensor) -> list[int | None]:
    """Return the sizes that two tensors share, None where they differ: what depends on the batch or on its length."""
    return [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]


def numbered(kind: str, tensors: Sequence[tf.Tensor]) -> _Named:
    """Return tensors by the names `kind_0`, `kind_1`, …."""
    return {f"{kind}_{i}": tensor for i, tensor in enumerate(tensors)}


def _starting(tensors: _Named, kind: str) -> _Named:
    return {name: tensor for name, tensor in tensors.items() if name.startswith(kind)}
