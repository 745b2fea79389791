"""Recurrences along time, of values without a gradient: decaying sums, and peaks that fall.

They are `doubling`, or in a training on a CPU a kernel of our own (`running.hpp`), which goes through the values once.
"""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sonorant.models import kernels
from sonorant.models.doubling import doubling, earlier
from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.tensorflow import tf

__all__ = ["decaying_peaks", "decaying_sums", "falling_peaks"]

_Array = NDArray[np.float32]


def decaying_sums(terms: tf.Tensor, decay: float, *, compiled: bool) -> tf.Tensor:
    """Return y_t = decay y_{t-1} + terms_t along axis 1 of [B, T, n]."""
    if compiled:
        return _by_kernel(partial(_sums, decay), terms)

    def add(sums: tf.Tensor, reach: tf.Tensor) -> tf.Tensor:
        return sums + decay ** tf.cast(reach, tf.float32) * earlier(sums, reach, 0.0)

    return doubling(terms, add)


def falling_peaks(levels: tf.Tensor, fall: float, *, compiled: bool) -> tf.Tensor:
    """Return p_t = max(p_{t-1} - fall, levels_t) along axis 1 of [B, T, n]."""
    if compiled:
        return _by_kernel(partial(_peaks, 1.0, fall), levels)

    def highest(peaks: tf.Tensor, reach: tf.Tensor) -> tf.Tensor:
        return tf.maximum(peaks, earlier(peaks, reach, -math.inf) - fall * tf.cast(reach, tf.float32))

    return doubling(levels, highest)


def decaying_peaks(levels: tf.Tensor, kept: float, *, compiled: bool) -> tf.Tensor:
    """Return p_t = max(kept p_{t-1}, levels_t) along axis 1 of levels [B, T, n] above 0."""
    if compiled:
        return _by_kernel(partial(_peaks, kept, 0.0), levels)

    def highest(peaks: tf.Tensor, reach: tf.Tensor) -> tf.Tensor:
        return tf.maximum(peaks, kept ** tf.cast(reach, tf.float32) * earlier(peaks, reach, 0.0))

    return doubling(levels, highest)


def _by_kernel(kernel: partial[_Array], values: tf.Tensor) -> tf.Tensor:
    (made,) = call_kernel(kernel, [values], [tf.float32])
    made.set_shape(values.shape)
    return tf.stop_gradient(made)


def _sums(decay: float, terms: _Array) -> _Array:
    sums = aligned_array(*terms.shape)
    kernels.decaying_sums(terms, decay, kernel_threads(), sums)
    return sums


def _peaks(kept: float, fall: float, levels: _Array) -> _Array:
    peaks = aligned_array(*levels.shape)
    kernels.running_peaks(levels, kept, fall, kernel_threads(), peaks)
    return peaks
