"""The decoder of a label-synchronous model, for searches, which know arrays only.

`decoder_functions` gives the functions of a model, which an export saves; `TensorDecoder` makes of them what a search
drives (`sonorant.decoding.label_decoder.LabelDecoder`), and `model_decoder` that of a model in memory.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.models.family import LabelSynchronous
from sonorant.tensorflow import graph_function, tf

__all__ = ["TensorDecoder", "common_shape", "decoder_functions", "model_decoder", "numbered"]

_Named: TypeAlias = dict[str, tf.Tensor]


class _State(NamedTuple):
    """Of a batch between two labels. memory, state: arguments of `decoder_next` by name."""

    memory: _Named
    state: _Named


class TensorDecoder:
    """Holds no utterance's state, so threads may share it."""

    def __init__(self, functions: Mapping[str, Callable[..., _Named]]) -> None:
        """functions: what `decoder_functions` returns, by the same names; others do not matter."""
        self._begin = functions["decoder_begin"]
        self._advance = functions["decoder_next"]
        self._frames = functions.get("decoder_frames")

    @property
    def joint_ctc(self) -> bool:
        """Whether there are log-probabilities by frame."""
        return self._frames is not None

    def begin(self, encoded: Sequence[NDArray[np.float32]]) -> _State:
        """Return the state before the first label of utterances [frames, size], each with one hypothesis."""
        lengths = np.array([len(frames) for frames in encoded], np.int32)
        tensors = self._begin(encoded=_padded(encoded), lengths=tf.constant(lengths))
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

    def frame_log_probs(self, encoded: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """See `LabelDecoder`; one utterance at a time, so that none depends on its batch-mates."""
        assert self._frames is not None, "a search with CTC, but a model without"
        return [self._frames(encoded=_padded([one]))["log_probs"].numpy()[0] for one in encoded]

    def warm(self, encoded_size: int) -> None:
        """Call each function once, because the first call is slow."""
        one = np.zeros((1, 1), np.int32)
        self.next(one, one, self.begin([np.zeros((1, encoded_size), np.float32)]))


def decoder_functions(model: LabelSynchronous) -> dict[str, Any]:
    """Return `decoder_begin` and `decoder_next`, and `decoder_frames` of a model with joint CTC.

    They take any number of utterances and hypotheses.

    `decoder_begin` takes `encoded` Float32[B, T', size] and `lengths` Int32[B], and returns
    memory and the state of one hypothesis, as `memory_0`, ..., `state_0`, .... `decoder_next` takes these, the labels
    `before` and, of each hypothesis, the one in the state that it extends (`parents`), Int32[B, K] both, and returns
    `log_probs` Float32[B, K, symbols], `attention` Float32[B, K, T'] and the state after. `decoder_frames` takes
    `encoded` and returns `log_probs` Float32[B, T', units + 1] of units and blank.
    """

    def begin(encoded: tf.Tensor, lengths: tf.Tensor) -> _Named:
        memory, state = model.begin(encoded, lengths, 1)
        return numbered("memory", memory) | numbered("state", state)

    frames = [
        tf.TensorSpec([None, None, model.encoded_size], tf.float32, "encoded"),
        tf.TensorSpec([None], tf.int32, "lengths"),
    ]
    specs = _state_specs(model)
    remembered = sum(spec.name.startswith("memory") for spec in specs)

    def advance(before: tf.Tensor, parents: tf.Tensor, *tensors: tf.Tensor) -> _Named:
        extended = [tf.gather(tensor, parents, batch_dims=1) for tensor in tensors[remembered:]]
        step = model.next_label(before, list(tensors[:remembered]), extended)
        return {"log_probs": step.log_probs, "attention": step.attention} | numbered("state", step.state)

    def by_frame(encoded: tf.Tensor) -> _Named:
        return {"log_probs": model.frame_log_probs(encoded)}

    labels = [tf.TensorSpec([None, None], tf.int32, name) for name in ("before", "parents")]
    functions = {
        "decoder_begin": graph_function(begin, input_signature=frames),
        "decoder_next": graph_function(advance, input_signature=[*labels, *specs]),
    }
    if model.joint_ctc:
        functions["decoder_frames"] = graph_function(by_frame, input_signature=frames[:1])
    return functions


def _state_specs(model: LabelSynchronous) -> list[tf.TensorSpec]:
    """Return the specifications of memory and state, for any number of utterances, frames and hypotheses."""
    short, longer = (model.begin(tf.zeros((n, n, model.encoded_size)), tf.fill((n,), n), n) for n in (1, 2))
    return [
        tf.TensorSpec(common_shape(one, other), one.dtype, f"{kind}_{i}")
        for kind, ones, others in zip(("memory", "state"), short, longer, strict=True)
        for i, (one, other) in enumerate(zip(ones, others, strict=True))
    ]


def model_decoder(model: LabelSynchronous) -> TensorDecoder:
    """Return the decoder of a model in memory, whose weights may change between two searches."""
    return TensorDecoder(
        {name: function.get_concrete_function() for name, function in decoder_functions(model).items()}
    )


def _padded(encoded: Sequence[NDArray[np.float32]]) -> tf.Tensor:
    padded = np.zeros((len(encoded), max(map(len, encoded)), encoded[0].shape[1]), np.float32)
    for i, frames in enumerate(encoded):
        padded[i, : len(frames)] = frames
    return tf.constant(padded)


def common_shape(one: tf.Tensor, other: tf.Tensor) -> list[int | None]:
    """Return the sizes that two tensors share, None where they differ: what depends on the batch or on its length."""
    return [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]


def numbered(kind: str, tensors: Sequence[tf.Tensor]) -> _Named:
    """Return tensors by the names `kind_0`, `kind_1`, …."""
    return {f"{kind}_{i}": tensor for i, tensor in enumerate(tensors)}


def _starting(tensors: _Named, kind: str) -> _Named:
    return {name: tensor for name, tensor in tensors.items() if name.startswith(kind)}
