"""The functions of a label-synchronous model's decoder, which an export saves, and its decoder in memory."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from sonorant.models.label_synchronous import LabelSynchronous
from sonorant.models.tensor_decoder import TensorDecoder
from sonorant.tensorflow import graph_function, of_arrays, tf

__all__ = ["common_shape", "decoder_functions", "frame_functions", "model_decoder", "numbered"]

_Named: TypeAlias = dict[str, tf.Tensor]


def decoder_functions(model: LabelSynchronous) -> dict[str, Any]:
    """Return `decoder_begin` and `decoder_next`, and those of `frame_functions`.

    They take any number of utterances and hypotheses.

    `decoder_begin` takes `encoded` Float32[B, T', size] and `lengths` Int32[B], and returns
    memory and the state of one hypothesis, as `memory_0`, ..., `state_0`, .... `decoder_next` takes these, the labels
    `before` and, of each hypothesis, the one in the state that it extends (`parents`), Int32[B, K] both, and returns
    `log_probs` Float32[B, K, symbols], `attention` Float32[B, K, T'] and the state after.
    """

    def begin(encoded: tf.Tensor, lengths: tf.Tensor) -> _Named:
        memory, state = model.begin(encoded, lengths, 1)
        return numbered("memory", memory) | numbered("state", state)

    frames = [_encoded_spec(model), tf.TensorSpec([None], tf.int32, "lengths")]
    specs = _state_specs(model)
    remembered = sum(spec.name.startswith("memory") for spec in specs)

    def advance(before: tf.Tensor, parents: tf.Tensor, *tensors: tf.Tensor) -> _Named:
        extended = [tf.gather(tensor, parents, batch_dims=1) for tensor in tensors[remembered:]]
        step = model.next_label(before, list(tensors[:remembered]), extended)
        return {"log_probs": step.log_probs, "attention": step.attention} | numbered("state", step.state)

    labels = [tf.TensorSpec([None, None], tf.int32, name) for name in ("before", "parents")]
    return {
        "decoder_begin": graph_function(begin, input_signature=frames),
        "decoder_next": graph_function(advance, input_signature=[*labels, *specs]),
        **frame_functions(model),
    }


def frame_functions(model: LabelSynchronous) -> dict[str, Any]:
    """Return `decoder_frames` of a model with joint CTC; of another nothing.

    It takes `encoded` Float32[B, T', size] and returns `log_probs` Float32[B, T', units + 1] of units and blank.
    """

    def by_frame(encoded: tf.Tensor) -> _Named:
        return {"log_probs": model.frame_log_probs(encoded)}

    if not model.joint_ctc:
        return {}
    return {"decoder_frames": graph_function(by_frame, input_signature=[_encoded_spec(model)])}


def _encoded_spec(model: LabelSynchronous) -> tf.TensorSpec:
    return tf.TensorSpec([None, None, model.encoded_size], tf.float32, "encoded")


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
    return TensorDecoder({name: of_arrays(function) for name, function in decoder_functions(model).items()})


def common_shape(one: tf.Tensor, other: tf.Tensor) -> list[int | None]:
    """Return the sizes that two tensors share, None where they differ: what depends on the batch or on its length."""
    return [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]


def numbered(kind: str, tensors: Sequence[tf.Tensor]) -> _Named:
    """Return tensors by the names `kind_0`, `kind_1`, …."""
    return {f"{kind}_{i}": tensor for i, tensor in enumerate(tensors)}
