"""The functions of an exported model, as a module that TensorFlow saves.

A `Streaming` model has `start`, number of streams in, their first state out; `stream`, features and state in,
log-probabilities and the state after them out. For recognizers it has its weights, if it is no more than a stack of
LSTM layers (`sonorant.models.stack_functions`); else `blocks_1` to `blocks_4`, features of so many blocks
and `packed` states of `BATCH` streams in, log-probabilities and the packed states after each block out
(`packed_stream`). Any other model has one, `whole`: padded utterances and their lengths in, log-probabilities and the
lengths of these out. A `LabelSynchronous` model has encoded frames (`encoded`) in place of log-probabilities, and the
functions of its decoder (`sonorant.models.decoder_functions`, or `monotonic_functions` beside it).
"""

import math
from collections.abc import Sequence
from typing import Any

from sonorant.export.fixed_batch import BATCH
from sonorant.export.packed_stream import MOST_BLOCKS
from sonorant.models.decoder_functions import decoder_functions, numbered
from sonorant.models.family import Inputs, Model, Streaming
from sonorant.models.label_synchronous import LabelSynchronous, Monotonic
from sonorant.models.monotonic_functions import monotonic_functions
from sonorant.models.stack_functions import stack_functions
from sonorant.tensorflow import graph_function, tf

__all__ = ["signature", "signatures"]


def signature(model: Model) -> str:
    """Return the name of the signature that recognizes."""
    return "stream" if isinstance(model, Streaming) else "whole"


def signatures(model: Model) -> tuple[tf.Module, dict[str, Any]]:
    """Return a module that holds the model's weights and functions, and the functions by the names of signatures."""
    module = tf.Module()
    module.weights = [weight.value for weight in model.weights]  # what is not reachable from here is not saved
    functions = _stream(model) if isinstance(model, Streaming) else _whole(model)
    if isinstance(model, Monotonic):
        functions |= monotonic_functions(model)
    elif isinstance(model, LabelSynchronous):
        functions |= decoder_functions(model)
    for name, function in functions.items():
        setattr(module, name, function)
    return module, functions


def _stream(model: Streaming) -> dict[str, Any]:
    """Return `start` and `stream`, of any number of streams, and weights, or else `blocks_1` to `blocks_4`.

    The loop over time gives the model one block of vectors at a time, so that every product has the same shapes however
    a stream is cut into chunks: the sums then run in the same order, and the results agree to the last bit.
    """
    block, frames, padding = model.framing.step, model.framing.at_once, model.padding
    name, size = ("encoded", model.encoded_size) if isinstance(model, Monotonic) else ("log_probs", model.symbols.size)

    def start(streams: tf.Tensor) -> dict[str, tf.Tensor]:
        tiled = {"padding": tf.tile(padding[None], (streams, 1))} if model.framing.padded else {}
        return numbered("state", model.initial_state(streams)) | tiled

    def stream(features: tf.Tensor, *state: tf.Tensor) -> dict[str, tf.Tensor]:
        blocks = tf.shape(features)[1] // block
        written = tf.TensorArray(tf.float32, size=blocks, element_shape=[None, frames, size])

        def advance(t: tf.Tensor, written: tf.TensorArray, state: list[tf.Tensor]) -> tuple[Any, Any, Any]:
            vectors = tf.ensure_shape(features[:, t * block : (t + 1) * block], (None, block, model.bins))
            outputs, state = model.step(vectors, state)
            return t + 1, written.write(t, outputs), state

        _, written, last = tf.while_loop(lambda t, *_: t < blocks, advance, (0, written, list(state)))
        outputs = tf.reshape(tf.transpose(written.stack(), [1, 0, 2, 3]), [-1, blocks * frames, size])
        return {name: outputs} | numbered("state", last)

    features = tf.TensorSpec([None, None, model.bins], tf.float32, "features")
    return {
        "start": graph_function(start, input_signature=[tf.TensorSpec([], tf.int32, "streams")]),
        "stream": graph_function(stream, input_signature=[features, *_states(model, None)]),
        **(stack_functions(model) or _all_blocks(model, name)),
    }


def _states(model: Streaming, streams: int | None) -> list[tf.TensorSpec]:
    """Return the specifications of the states of so many streams; None: of any number."""
    first = model.initial_state(1)
    return [tf.TensorSpec([streams, *first[i].shape[1:]], first[i].dtype, f"state_{i}") for i in range(len(first))]


def _all_blocks(model: Streaming, output: str) -> dict[str, Any]:
    def next_block(features: tf.Tensor, *state: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs, after = model.step(features, list(state))
        return {output: outputs} | numbered("state", after)

    one = tf.TensorSpec([BATCH, model.framing.step, model.bins], tf.float32, "features")
    states = _states(model, BATCH)
    step = graph_function(next_block, input_signature=[one, *states])
    return {f"blocks_{count}": _blocks(step, output, one, states, count) for count in range(1, MOST_BLOCKS + 1)}


def _blocks(step: Any, output: str, one: tf.TensorSpec, states: Sequence[tf.TensorSpec], count: int) -> Any:
    """Return the function of `count` blocks `one`, which are as many steps; see `PackedStream`.

    Its shapes are known, so that TensorFlow computes none of them in each call.
    """
    sizes = [math.prod(state.shape[1:]) for state in states]

    def blocks(features: tf.Tensor, packed: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs, after = [], []
        for part in tf.split(features, count, axis=1):
            parts = zip(tf.split(packed, sizes, axis=1), states, strict=True)
            found = step(part, *(tf.reshape(own, state.shape) for own, state in parts))
            flat = [tf.reshape(found[f"state_{i}"], (BATCH, size)) for i, size in enumerate(sizes)]
            packed = tf.concat(flat, axis=1)
            outputs.append(found[output])
            after.append(packed)
        return {output: tf.concat(outputs, axis=1), "packed": tf.stack(after, axis=1)}

    features = tf.TensorSpec([BATCH, count * one.shape[1], one.shape[2]], tf.float32, "features")
    return graph_function(blocks, input_signature=[features, tf.TensorSpec([BATCH, sum(sizes)], tf.float32, "packed")])


def _whole(model: Model) -> dict[str, Any]:
    """Return `whole`, of any number of utterances."""

    def whole(features: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        if isinstance(model, LabelSynchronous):
            encoded, lengths = model.encode(features, lengths)
            return {"encoded": encoded, "lengths": lengths}
        outputs = model.outputs(Inputs(features, lengths))
        return {"log_probs": outputs.frames, "lengths": outputs.lengths}

    features = tf.TensorSpec([None, None, model.bins], tf.float32, "features")
    lengths = tf.TensorSpec([None], tf.int32, "lengths")
    return {"whole": graph_function(whole, input_signature=[features, lengths])}
