"""Filters over frames and bins by a kernel of our own, for training on a CPU (`filters.hpp`).

TensorFlow's form writes the windows of all positions into an array before it multiplies them, and goes through what
comes out once for each operation that follows. The kernel takes a few vectors at a time through products, maxima,
rectifier and moments while they are in the processor's cache.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.models.kernel_calls import aligned_array, aligned_bytes, call_kernel, kernel_threads
from sonorant.models.kernels import filters_forward, filters_kernel_gradient, filters_maps_gradient
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["Windows", "compiled_filters"]

_Array = NDArray[np.float32]
_Bytes = NDArray[np.uint8]


class Windows(NamedTuple):
    """Windows of `frames` frames and `bins` bins, at each `stride_frames`-th frame and each bin.

    Of `pool` neighbouring bins the largest product counts. maxima: how many there are; bins beyond are not used.
    """

    frames: int
    bins: int
    stride_frames: int
    pool: int
    maxima: int

    def frames_after(self, frames: int) -> int:
        """Return at how many of so many frames a window begins."""
        return (frames - self.frames) // self.stride_frames + 1


def compiled_filters(
    maps: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor, centre: tf.Tensor, windows: Windows
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return rectified maxima [frames', maxima, N, filters], and their moments about the centre [2, filters].

    The moments are sums, of differences and of squares. maps: Float32[frames, bins, N, channels]; kernel: [bins,
    frames, channels, filters] of a window; bias, centre: [filters]; the centre has no gradient. Of equal products of a
    pool the first has the gradient.
    """

    @custom_gradient
    def filtered(
        maps: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
        passes = _Passes(windows)
        given = [maps, kernel, bias, centre]
        found, argmax, moments = call_kernel(passes.forward, given, [tf.float32, tf.uint8, tf.float32])
        found.set_shape((windows.frames_after(maps.shape[0]), windows.maxima, maps.shape[2], kernel.shape[3]))
        moments.set_shape((2, kernel.shape[3]))

        def gradient(d_found: tf.Tensor, d_moments: tf.Tensor) -> tuple[tf.Tensor, ...]:
            given = [maps, kernel, d_found, d_moments, found, argmax, centre]
            # A call by itself, which is dropped from a graph in which nobody asks for it: of a first layer.
            (d_maps,) = call_kernel(passes.maps_gradient, given, [tf.float32])
            d_kernel, d_bias = call_kernel(passes.kernel_gradient, given, [tf.float32] * 2)
            for tensor, like in ((d_maps, maps), (d_kernel, kernel), (d_bias, bias)):
                tensor.set_shape(like.shape)
            return d_maps, d_kernel, d_bias

        return (found, moments), gradient

    found, moments = filtered(maps, kernel, bias)
    return found, moments


class _Passes(NamedTuple):
    windows: Windows

    def forward(self, maps: _Array, kernel: _Array, bias: _Array, centre: _Array) -> tuple[_Array, _Bytes, _Array]:
        filters = kernel.shape[3]
        shape = (self.windows.frames_after(len(maps)), self.windows.maxima, maps.shape[2], filters)
        found, argmax, moments = aligned_array(*shape), aligned_bytes(*shape), aligned_array(2, filters)
        filters_forward(maps, kernel, bias, centre, *self._settings, found, argmax, moments)
        return found, argmax, moments

    def maps_gradient(self, maps: _Array, kernel: _Array, *made: Any) -> _Array:
        d_maps = aligned_array(*maps.shape)
        given: tuple[Any, ...] = (*made, kernel, *self._settings, d_maps)
        filters_maps_gradient(*given)
        return d_maps

    def kernel_gradient(self, maps: _Array, kernel: _Array, *made: Any) -> tuple[_Array, _Array]:
        d_kernel, d_bias = aligned_array(*kernel.shape), aligned_array(kernel.shape[3])
        given: tuple[Any, ...] = (*made, maps, *self._settings, d_kernel, d_bias)
        filters_kernel_gradient(*given)
        return d_kernel, d_bias

    @property
    def _settings(self) -> tuple[int, int, int]:
        return self.windows.stride_frames, self.windows.pool, kernel_threads()
