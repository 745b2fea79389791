"""An LSTM layer by a kernel of our own, for training on a CPU: one call for all steps, forward, and one backward.

The kernel computes the recurrence alone (`lstm.hpp`; the formulae are in `lstm.py`): it packs its weights once, where
TensorFlow's product does so at every step, and does what is element-wise while its operands are cached. Products of the
inputs, and gradients of weights and inputs, are one product of matrices each.

A graph calls it through the interpreter, so it has it in this process alone: exported graphs have not.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.models.kernels import lstm_backward, lstm_forward
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["compiled_lstm"]

_GATES = 4
_ALIGNED = 64  # bytes: TensorFlow takes arrays that begin at a multiple of it without a copy

_Array = NDArray[np.float32]


@custom_gradient
def compiled_lstm(
    inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor, peepholes: tf.Tensor
) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
    """Return outputs [T, B, cells] and the last cell state [B, cells], with the gradient of both.

    inputs: Float32[T, B, inputs]; cell, hidden: [B, cells], before the first; weight, bias, peepholes: of `Lstm`, zeros
    for a layer without peepholes.
    """
    size, vectors = bias.shape[0] // _GATES, tf.shape(inputs)[:2]
    from_input, recurrent = weight[: inputs.shape[2]], weight[inputs.shape[2] :]
    products = tf.reshape(tf.matmul(_flat(inputs), from_input) + bias, tf.concat([vectors, [_GATES * size]], 0))
    gates, cells, outputs = _call(_forward, [products, recurrent, peepholes, cell, hidden])
    for tensor, columns in ((gates, _GATES * size), (cells, size), (outputs, size)):
        tensor.set_shape((*inputs.shape[:2], columns))

    def gradient(d_outputs: tf.Tensor, d_last_cell: tf.Tensor) -> tuple[tf.Tensor, ...]:
        given = [d_outputs, d_last_cell, gates, cells, cell, recurrent, peepholes]
        d_gates, d_cell, d_hidden = _call(_backward, given)
        d_gates.set_shape(gates.shape)
        for tensor in (d_cell, d_hidden):
            tensor.set_shape(cell.shape)
        operands = inputs, tf.concat([hidden[tf.newaxis], outputs[:-1]], 0)
        d_weight = tf.concat([tf.matmul(_flat(one), _flat(d_gates), transpose_a=True) for one in operands], 0)
        d_inputs = tf.reshape(tf.matmul(_flat(d_gates), from_input, transpose_b=True), tf.shape(inputs))
        d_peepholes = _of_peepholes(d_gates, cell, cells)
        return d_inputs, d_cell, d_hidden, d_weight, tf.reduce_sum(d_gates, (0, 1)), d_peepholes

    return (outputs, cells[-1]), gradient


def _of_peepholes(d_gates: tf.Tensor, cell: tf.Tensor, cells: tf.Tensor) -> tf.Tensor:
    """Return their gradients [3, cells]; input and forget gate see the cell state before, the output gate that now."""
    d_input, _, d_forget, d_output = tf.split(d_gates, _GATES, axis=2)
    before = tf.concat([cell[tf.newaxis], cells[:-1]], 0)
    seen = (d_input * before, d_forget * before, d_output * cells)
    return tf.stack([tf.reduce_sum(one, (0, 1)) for one in seen])


def _flat(sequence: tf.Tensor) -> tf.Tensor:
    return tf.reshape(sequence, (-1, sequence.shape[2]))


def _call(kernel: Callable[..., Any], given: list[tf.Tensor]) -> list[tf.Tensor]:
    """Return the three arrays that a kernel makes, in a graph and outside."""
    made: list[tf.Tensor] = tf.numpy_function(kernel, given, [tf.float32] * 3, stateful=False)
    return made


def _forward(
    products: _Array, recurrent: _Array, peepholes: _Array, cell: _Array, hidden: _Array
) -> tuple[_Array, _Array, _Array]:
    steps, rows, size = *products.shape[:2], len(recurrent)
    gates, cells, outputs = (_empty(steps, rows, columns) for columns in (_GATES * size, size, size))
    lstm_forward(products, recurrent, peepholes, cell, hidden, _threads(), gates, cells, outputs)
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
    d_gates, d_cell, d_hidden = (_empty(*shape) for shape in (gates.shape, cell.shape, cell.shape))
    given = d_outputs, d_last_cell, gates, cells, cell, recurrent, peepholes
    lstm_backward(*given, _threads(), d_gates, d_cell, d_hidden)
    return d_gates, d_cell, d_hidden


def _empty(*shape: int) -> _Array:
    """Return an array whose memory is aligned."""
    numbers, spare = int(np.prod(shape)), _ALIGNED // np.dtype(np.float32).itemsize
    memory = np.empty(numbers + spare, np.float32)
    first = -memory.ctypes.data % _ALIGNED // memory.itemsize
    return memory[first : first + numbers].reshape(shape)


def _threads() -> int:
    """Return how many threads an operation of TensorFlow has."""
    return tf.config.threading.get_intra_op_parallelism_threads() or os.cpu_count() or 1
