"""An LSTM layer by a kernel of our own, for training on a CPU: one call for all steps, forward, and one backward.

The kernel computes the recurrence alone (`lstm.hpp`; the formulae are in `graph_lstm.py`): it packs its weights once,
where TensorFlow's product does so at every step, and does what is element-wise while its operands are cached. Products
of the inputs, and gradients of weights and inputs, are one product of matrices each; inputs that a layer goes through
twice are multiplied once.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sonorant.models.gates import GATES, flat
from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.models.kernels import lstm_backward, lstm_forward, lstm_peepholes
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["compiled_recurrence", "input_products"]

_Array = NDArray[np.float32]


def input_products(inputs: tf.Tensor, from_input: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Return what inputs [T, B, inputs] add to the gates, Float32[T, B, 4 cells].

    from_input: [inputs, 4 cells], the weight's first rows.
    """
    products = tf.nn.bias_add(tf.matmul(flat(inputs), from_input), bias)
    products = tf.reshape(products, tf.concat([tf.shape(inputs)[:2], tf.shape(bias)], 0))
    return tf.ensure_shape(products, (*inputs.shape[:2], bias.shape[0]))


@custom_gradient
def compiled_recurrence(
    products: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor, recurrent: tf.Tensor, peepholes: tf.Tensor
) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
    """Return outputs [T, B, cells] and the last cell state [B, cells], with the gradient of both.

    products: see `input_products`; cell, hidden: [B, cells], before the first; recurrent: [cells, 4 cells], the
    weight's other rows; peepholes: of `Lstm`, zeros for a layer without.
    """
    size = recurrent.shape[0]
    gates, cells, outputs = call_kernel(_forward, [products, recurrent, peepholes, cell, hidden], [tf.float32] * 3)
    for tensor, columns in ((gates, GATES * size), (cells, size), (outputs, size)):
        tensor.set_shape((*products.shape[:2], columns))

    def gradient(d_outputs: tf.Tensor, d_last_cell: tf.Tensor) -> tuple[tf.Tensor, ...]:
        given = [d_outputs, d_last_cell, gates, cells, cell, recurrent, peepholes]
        d_gates, d_cell, d_hidden = call_kernel(_backward, given, [tf.float32] * 3)
        d_gates.set_shape(gates.shape)
        for tensor in (d_cell, d_hidden):
            tensor.set_shape(cell.shape)
        d_recurrent = tf.matmul(flat(outputs[:-1]), flat(d_gates[1:]), transpose_a=True)
        d_recurrent += tf.matmul(hidden, d_gates[0], transpose_a=True)
        # Dropped from a graph of a layer without.
        (d_peepholes,) = call_kernel(_peepholes, [d_gates, cells, cell], [tf.float32])
        d_peepholes.set_shape(peepholes.shape)
        return d_gates, d_cell, d_hidden, d_recurrent, d_peepholes

    return (outputs, cells[-1]), gradient


def _forward(
    products: _Array, recurrent: _Array, peepholes: _Array, cell: _Array, hidden: _Array
) -> tuple[_Array, _Array, _Array]:
    steps, rows, size = *products.shape[:2], len(recurrent)
    gates, cells, outputs = (aligned_array(steps, rows, columns) for columns in (GATES * size, size, size))
    lstm_forward(products, recurrent, peepholes, cell, hidden, kernel_threads(), gates, cells, outputs)
    return gates, cells, outputs


def _backward(
    d_outputs: _Array,
    d_last_cell: _Array,
    gates: _Array,
    cells: _Array,
    cell: _Array,
    recurrent: _Array,
    peepholes: _Array,
) -> tuple[_Array, _Array, _Array]:
    d_gates, d_cell, d_hidden = (aligned_array(*shape) for shape in (gates.shape, cell.shape, cell.shape))
    given = d_outputs, d_last_cell, gates, cells, cell, recurrent, peepholes
    lstm_backward(*given, kernel_threads(), d_gates, d_cell, d_hidden)
    return d_gates, d_cell, d_hidden


def _peepholes(d_gates: _Array, cells: _Array, cell: _Array) -> _Array:
    d_peepholes = aligned_array(3, cell.shape[1])
    lstm_peepholes(d_gates, cells, cell, d_peepholes)
    return d_peepholes
