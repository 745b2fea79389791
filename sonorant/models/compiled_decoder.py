"""An attention decoder that is taught its labels, by a kernel of our own, for training on a CPU.

One call goes through all labels forward, and one backward (`taught_decoder.hpp`), where a loop of TensorFlow's makes
hundreds of small operations for each. Gradients of weights are one product of matrices each.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["TaughtLabels", "Teacher", "through_labels"]

_GATES = 4
_LSTM = 4  # arrays that a kernel makes of the LSTM: gates, cells, hidden states, contexts

_Array = NDArray[np.float32]


class Teacher(NamedTuple):
    """embedded: the label before each, [L, B, n]; weight, bias: of the decoder's `LstmCell`, whose inputs it begins."""

    embedded: tf.Tensor
    weight: tf.Tensor
    bias: tf.Tensor


class TaughtLabels(NamedTuple):
    """Hidden states [L, B, cells], contexts [L, B, size], and the attention's weights [L, B, T]."""

    hidden: tf.Tensor
    contexts: tf.Tensor
    weights: tf.Tensor


def through_labels(
    kernel: Callable[..., Any],
    kept: int,
    teacher: Teacher,
    query: tf.Tensor,
    encoded: tf.Tensor,
    present: tf.Tensor,
    keys: tf.Tensor,
    scores: tf.Tensor,
    *vectors: tf.Tensor,
) -> TaughtLabels:
    """Return what a kernel, a class of `kernels.pyi`, makes of all labels.

    kept: how many arrays [L, B, T] it makes, the weights first. query: [cells, inner]; encoded: [B, T, size]; present:
    1, or 0 in padding, [B, T]; keys: [B, T, inner]; scores: further ones, of frames; vectors: [inner] each.
    """
    lengths = tf.cast(tf.reduce_sum(present, 1), tf.int32)
    operands = [*teacher, query, encoded, lengths, keys, scores, *vectors]
    taught: TaughtLabels = _kernel_with_gradient(kernel, kept)(*map(tf.convert_to_tensor, operands))
    return taught


def _kernel_with_gradient(kernel: Callable[..., Any], kept: int) -> Callable[..., Any]:
    def teach(products: _Array, weight: _Array, query: _Array, encoded: _Array, *memory: _Array) -> list[_Array]:
        (rows, frames, size), (cells, inner) = encoded.shape, query.shape
        columns = [_GATES * cells, cells, cells, size, inner, *[frames] * kept]
        made = [aligned_array(len(products), rows, n) for n in columns]
        kernel(weight, query, encoded, *memory).teach(products, kernel_threads(), *made)
        return made

    def hand_back(*given: _Array) -> list[_Array]:
        back, (weight, query, encoded, lengths, keys, scores, *vectors) = given[: 6 + kept], given[6 + kept :]
        gates, queries = back[3], back[5]
        of_rows = [(len(encoded), len(vector)) for vector in vectors]
        like = [one.shape for one in (gates, queries, encoded, keys, scores)]
        made = [aligned_array(*shape) for shape in (*like, *of_rows)]
        decoder = kernel(weight, query, encoded, lengths, keys, scores, *vectors)
        decoder.hand_back(*back, kernel_threads(), *made)
        return made

    @custom_gradient
    def taught(
        embedded: tf.Tensor,
        weight: tf.Tensor,
        bias: tf.Tensor,
        query: tf.Tensor,
        encoded: tf.Tensor,
        *memory: tf.Tensor,
    ) -> tuple[TaughtLabels, Callable[..., tuple[tf.Tensor | None, ...]]]:
        from_label, recurrent = weight[: embedded.shape[2]], weight[embedded.shape[2] :]
        products = tf.reshape(tf.matmul(_flat(embedded), from_label) + bias, _shape(embedded, bias.shape[0]))
        given = [recurrent, query, encoded, *memory]
        made = call_kernel(teach, [products, *given], _LSTM + 1 + kept)
        (cells, inner), (_, frames, encoded_size) = query.shape, encoded.shape
        columns = [_GATES * cells, cells, cells, encoded_size, inner, *[frames] * kept]
        for tensor, n in zip(made, columns, strict=True):
            tensor.set_shape((*embedded.shape[:2], n))
        gates, cells, hidden, contexts, queries, *weights = made

        def gradient(*d_taught: tf.Tensor) -> tuple[tf.Tensor | None, ...]:
            back = [*d_taught, gates, cells, queries, *weights, *given]
            d_gates, d_queries, d_encoded, d_keys, d_scores, *of_rows = call_kernel(hand_back, back, 2 + len(memory))
            d_vectors = [tf.reduce_sum(one, 0) for one in of_rows]
            made = [d_gates, d_queries, d_encoded, d_keys, d_scores, *d_vectors]
            for d, of in zip(made, [gates, queries, encoded, *memory[1:]], strict=True):
                d.set_shape(of.shape)
            before = tf.pad(tf.concat([contexts[:-1], hidden[:-1]], -1), ((1, 0), (0, 0), (0, 0)))
            heard = tf.concat([embedded, before], -1)
            d_weight = tf.matmul(_flat(heard), _flat(d_gates), transpose_a=True)
            d_query = tf.matmul(_flat(hidden), _flat(d_queries), transpose_a=True)
            d_embedded = tf.reshape(tf.matmul(_flat(d_gates), from_label, transpose_b=True), tf.shape(embedded))
            d_bias = tf.raw_ops.BiasAddGrad(out_backprop=d_gates)
            return d_embedded, d_weight, d_bias, d_query, d_encoded, None, d_keys, d_scores, *d_vectors

        return TaughtLabels(hidden, contexts, weights[0]), gradient

    return taught


def _flat(sequence: tf.Tensor) -> tf.Tensor:
    return tf.reshape(sequence, (-1, sequence.shape[2]))


def _shape(sequence: tf.Tensor, columns: int) -> tf.Tensor:
    return tf.concat([tf.shape(sequence)[:2], [columns]], 0)
