"""An LSTM backwards in time, chunk by chunk, by a kernel of our own, for training on a CPU (`lstm_chunks.hpp`).

TensorFlow's form reverses a sequence and lays its chunks side by side, and the same with what comes out and with all
gradients. The kernel finds each vector where it is.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sonorant.models.gates import GATES, flat
from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.models.kernels import lstm_chunks_backward, lstm_chunks_forward
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["compiled_chunks"]

_Array = NDArray[np.float32]


def compiled_chunks(products: tf.Tensor, recurrent: tf.Tensor, chunk: int) -> tf.Tensor:
    """Return outputs [T, B, cells] for all chunks but the last, each from the end of the chunk after it.

    products: of `input_products`, [T + chunk, B, 4 cells], whole chunks; chunk: vectors of each; recurrent: [cells,
    4 cells], the weight's last rows.
    """

    @custom_gradient
    def recurred(
        products: tf.Tensor, recurrent: tf.Tensor
    ) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]]:
        size = recurrent.shape[0]
        forward, backward = partial(_forward, chunk), partial(_backward, chunk)
        gates, cells, heard, outputs = call_kernel(forward, [products, recurrent], [tf.float32] * 4)
        vectors = None if products.shape[0] is None else products.shape[0] - chunk
        outputs.set_shape((vectors, products.shape[1], size))
        for made, columns in ((gates, GATES * size), (heard, size)):
            made.set_shape((2, vectors, products.shape[1], columns))

        def gradient(d_outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_gates, d_products = call_kernel(backward, [d_outputs, gates, cells, recurrent], [tf.float32] * 2)
            d_gates.set_shape(gates.shape)
            d_products.set_shape(products.shape)
            return d_products, tf.matmul(flat(heard), flat(d_gates), transpose_a=True)

        return outputs, gradient

    return recurred(products, recurrent)


def _forward(chunk: int, products: _Array, recurrent: _Array) -> tuple[_Array, _Array, _Array, _Array]:
    vectors, rows, size = len(products) - chunk, products.shape[1], len(recurrent)
    gates, cells, heard = (aligned_array(2, vectors, rows, columns) for columns in (GATES * size, size, size))
    outputs = aligned_array(vectors, rows, size)
    lstm_chunks_forward(products, recurrent, chunk, kernel_threads(), gates, cells, heard, outputs)
    return gates, cells, heard, outputs


def _backward(chunk: int, d_outputs: _Array, gates: _Array, cells: _Array, recurrent: _Array) -> tuple[_Array, _Array]:
    vectors, rows, _ = d_outputs.shape
    d_gates, d_products = aligned_array(*gates.shape), aligned_array(vectors + chunk, rows, gates.shape[3])
    lstm_chunks_backward(d_outputs, gates, cells, recurrent, chunk, kernel_threads(), d_gates, d_products)
    return d_gates, d_products
