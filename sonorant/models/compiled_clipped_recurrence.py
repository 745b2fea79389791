"""The recurrence of clipped rectifiers in both directions by a kernel of our own, for training on a CPU.

TensorFlow's form rearranges the sequence by time, reverses it for one direction, and packs its weights at every step.
The kernel (`clipped_recurrence.hpp`) finds each frame where it is, and packs once.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.models.kernels import clipped_backward, clipped_forward
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["compiled_clipped_recurrence"]

_Array = NDArray[np.float32]


def compiled_clipped_recurrence(inputs: tf.Tensor, lengths: tf.Tensor, weight: tf.Tensor, ceiling: float) -> tf.Tensor:
    """Return f + b [B, T, cells] of `inputs` [B, T, cells]; in padding b is 0.

    lengths: Int32[B], each of 0 to T; weight: [2, cells, cells].
    """
    forward, backward = partial(_forward, ceiling), partial(_backward, ceiling)

    @custom_gradient
    def recurred(
        inputs: tf.Tensor, weight: tf.Tensor
    ) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]]:
        states, outputs = call_kernel(forward, [inputs, lengths, weight], [tf.float32] * 2)
        outputs.set_shape(inputs.shape)
        states.set_shape((2, inputs.shape[0], None, inputs.shape[2]))

        def gradient(d_outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_inputs, d_sums = call_kernel(backward, [d_outputs, states, weight], [tf.float32] * 2)
            d_inputs.set_shape(inputs.shape)
            d_sums.set_shape(states.shape)
            return d_inputs, tf.matmul(_by_direction(states), _by_direction(d_sums), transpose_a=True)

        return outputs, gradient

    return recurred(inputs, weight)


def _by_direction(states: tf.Tensor) -> tf.Tensor:
    """[2, B, T + 1, cells] as [2, B (T + 1), cells]."""
    return tf.reshape(states, (2, -1, states.shape[3]))


def _forward(ceiling: float, inputs: _Array, lengths: NDArray[np.int32], weight: _Array) -> tuple[_Array, _Array]:
    states, outputs = _states(inputs), aligned_array(*inputs.shape)
    clipped_forward(inputs, lengths, weight, ceiling, kernel_threads(), states, outputs)
    return states, outputs


def _backward(ceiling: float, d_outputs: _Array, states: _Array, weight: _Array) -> tuple[_Array, _Array]:
    d_inputs, d_sums = aligned_array(*d_outputs.shape), _states(d_outputs)
    clipped_backward(d_outputs, states, weight, ceiling, kernel_threads(), d_inputs, d_sums)
    return d_inputs, d_sums


def _states(sequence: _Array) -> _Array:
    utterances, frames, cells = sequence.shape
    return aligned_array(2, utterances, frames + 1, cells)
