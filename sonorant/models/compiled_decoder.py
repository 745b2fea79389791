"""An attention decoder that is taught its labels, by a kernel of our own, for training on a CPU.

One call goes through all labels forward, and one backward (`taught_decoder.hpp`), where a loop of TensorFlow's makes
hundreds of small operations for each. Gradients of weights are one product of matrices each.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.models.gates import GATES, flat
from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["TaughtLabels", "Teacher", "through_labels"]

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


class _Kernel(NamedTuple):
    """make: a class of `kernels.pyi`; kept: how many arrays [L, B, T] it makes, the weights first."""

    make: Callable[..., Any]
    kept: int

    def columns(self, query: Any, encoded: Any) -> list[int]:
        """Of gates, cells, hidden states, contexts, queries and what is kept; query, encoded: see `through_labels`."""
        (cells, inner), (_, frames, size) = query.shape, encoded.shape
        return [GATES * cells, cells, cells, size, inner, *[frames] * self.kept]

    def forward(
        self, products: _Array, weight: _Array, query: _Array, encoded: _Array, *memory: _Array
    ) -> list[_Array]:
        """Return what the kernel makes of all labels; weight: of context and hidden state."""
        made = [aligned_array(*products.shape[:2], columns) for columns in self.columns(query, encoded)]
        self.make(weight, query, encoded, *memory).forward(products, kernel_threads(), *made)
        return made

    def backward(self, *given: _Array) -> list[_Array]:
        """Return the gradients of gates, queries, encoded, keys and scores, and for each utterance of each vector.

        given: the gradients of `TaughtLabels`, gates, cells, queries, what is kept, and the operands of `forward`.
        """
        *_, gates, _, queries = of_labels = given[:6]
        kept, operands = given[6 : 6 + self.kept], given[6 + self.kept :]
        _, _, encoded, _, keys, scores, *vectors = operands
        of_utterances = [(len(encoded), len(vector)) for vector in vectors]
        back = [aligned_array(*one.shape) for one in (gates, queries, encoded, keys, scores)]
        back += [aligned_array(*shape) for shape in of_utterances]
        self.make(*operands).backward(*of_labels, *kept, kernel_threads(), *back)
        return back


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
    taught: TaughtLabels = _with_gradient(_Kernel(kernel, kept))(*map(tf.convert_to_tensor, operands))
    return taught


def _with_gradient(kernel: _Kernel) -> Callable[..., Any]:
    @custom_gradient
    def teach(
        embedded: tf.Tensor,
        weight: tf.Tensor,
        bias: tf.Tensor,
        query: tf.Tensor,
        encoded: tf.Tensor,
        *memory: tf.Tensor,
    ) -> tuple[TaughtLabels, Callable[..., tuple[tf.Tensor | None, ...]]]:
        from_label, recurrent = weight[: embedded.shape[2]], weight[embedded.shape[2] :]
        products = _like(embedded, tf.matmul(flat(embedded), from_label) + bias)
        operands = [recurrent, query, encoded, *memory]
        columns = kernel.columns(query, encoded)
        made = call_kernel(kernel.forward, [products, *operands], [tf.float32] * len(columns))
        for tensor, n in zip(made, columns, strict=True):
            tensor.set_shape((*embedded.shape[:2], n))
        gates, cells, hidden, contexts, queries, *kept = made

        def gradient(*d_taught: tf.Tensor) -> tuple[tf.Tensor | None, ...]:
            like = [gates, queries, encoded, *memory[1:]]
            back = call_kernel(
                kernel.backward, [*d_taught, gates, cells, queries, *kept, *operands], [tf.float32] * len(like)
            )
            d_gates, d_queries, d_encoded, d_keys, d_scores = back[:5]
            d_vectors = [tf.reduce_sum(of_utterances, 0) for of_utterances in back[5:]]
            for d, tensor in zip([*back[:5], *d_vectors], like, strict=True):
                d.set_shape(tensor.shape)
            before = tf.pad(tf.concat([contexts[:-1], hidden[:-1]], -1), ((1, 0), (0, 0), (0, 0)))
            d_weight = tf.matmul(flat(tf.concat([embedded, before], -1)), flat(d_gates), transpose_a=True)
            d_query = tf.matmul(flat(hidden), flat(d_queries), transpose_a=True)
            d_embedded = _like(embedded, tf.matmul(flat(d_gates), from_label, transpose_b=True))
            d_bias = tf.raw_ops.BiasAddGrad(out_backprop=d_gates)  # faster than tf.reduce_sum
            return d_embedded, d_weight, d_bias, d_query, d_encoded, None, d_keys, d_scores, *d_vectors

        return TaughtLabels(hidden, contexts, kept[0]), gradient

    return teach


def _like(sequence: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """[L B, m] as [L, B, m]."""
    return tf.reshape(rows, tf.concat([tf.shape(sequence)[:2], [rows.shape[1]]], 0))
