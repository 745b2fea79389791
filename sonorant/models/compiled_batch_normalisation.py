"""Batch normalisation by the batch's own moments by a kernel of our own, for training on a CPU.

TensorFlow's operations pass over all values a dozen times; the kernels (`batch_normalisation.hpp`) four times. With
mean m and deviation d = sqrt(v + epsilon) of a channel's values x in the N frames that are there, scale s, offset o,

    y = s (x - m) / d + o,   do = sum of dy,   ds = sum of dy (x - m) / d,
    dx = s / d (dy - (do + (x - m) ds / d) / N),

where sums are over all frames, padding too. Padding has no part in m and d, so its dx is s dy / d alone. Of no frames
m is the centre, v is 0, and N counts as 1.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.models.kernels import normalise_forward, normalise_values_gradient, normalise_weights_gradient
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["compiled_batch_normalisation"]

_Array = NDArray[np.float32]


def compiled_batch_normalisation(
    values: tf.Tensor, present: tf.Tensor, centre: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, epsilon: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return `values` [..., channels] normalised, and sums [2, channels] about `centre` and of their squares.

    present: Float32[..., 1], for each vector 1, or 0 for padding. centre, scale, offset: [channels]. Neither the sums
    nor their centre have a gradient. Raises ValueError, in a graph InvalidArgumentError, for sizes that do not fit.
    """
    forward = partial(_forward, epsilon)
    flags = tf.reshape(present, [-1])

    @custom_gradient
    def normalised(
        rows: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor, tf.Tensor]]]:
        normal, sums, moments = call_kernel(forward, [rows, flags, centre, scale, offset], [tf.float32] * 3)
        normal.set_shape(rows.shape)
        sums.set_shape((2, *scale.shape))

        def gradient(d_normal: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            d_scale, d_offset = call_kernel(_weights_gradient, [d_normal, rows, moments], [tf.float32] * 2)
            # By a call of its own, which a graph leaves out where nobody asks for it, as of a first layer.
            given = [d_normal, rows, flags, moments, scale, d_scale, d_offset]
            (d_rows,) = call_kernel(_values_gradient, given, [tf.float32])
            for one, of in ((d_rows, rows), (d_scale, scale), (d_offset, offset)):
                one.set_shape(of.shape)
            return d_rows, d_scale, d_offset

        return (normal, sums), gradient

    normal, sums = normalised(tf.reshape(values, (-1, values.shape[-1])), scale, offset)
    return tf.ensure_shape(tf.reshape(normal, tf.shape(values)), values.shape), tf.stop_gradient(sums)


def _forward(
    epsilon: float, values: _Array, present: _Array, centre: _Array, scale: _Array, offset: _Array
) -> tuple[_Array, _Array, _Array]:
    normal, sums, moments = aligned_array(*values.shape), *(aligned_array(2, *scale.shape) for _ in range(2))
    normalise_forward(values, present, centre, scale, offset, epsilon, kernel_threads(), normal, sums, moments)
    return normal, sums, moments


def _weights_gradient(d_normal: _Array, values: _Array, moments: _Array) -> tuple[_Array, _Array]:
    d_scale, d_offset = aligned_array(moments.shape[1]), aligned_array(moments.shape[1])
    normalise_weights_gradient(d_normal, values, moments, kernel_threads(), d_scale, d_offset)
    return d_scale, d_offset


def _values_gradient(
    d_normal: _Array,
    values: _Array,
    present: _Array,
    moments: _Array,
    scale: _Array,
    d_scale: _Array,
    d_offset: _Array,
) -> _Array:
    d_values = aligned_array(*values.shape)
    normalise_values_gradient(d_normal, values, present, moments, scale, d_scale, d_offset, kernel_threads(), d_values)
    return d_values
