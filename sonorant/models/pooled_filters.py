"""A layer of filters over frames and bins: a convolution, the maxima of neighbouring bins, a bias and a rectifier."""

from sonorant.models.batch_normalisation import sums_about
from sonorant.models.compiled_filters import Windows, compiled_filters
from sonorant.models.half_precision import HalfPrecision
from sonorant.models.kernel_calls import HasKernel
from sonorant.models.pooled_convolution import pooled_convolution
from sonorant.tensorflow import keras, tf

__all__ = ["PooledFilters", "Windows"]


class PooledFilters(HasKernel, HalfPrecision):
    """Filters of windows of a feature map, by one of two kernels with the same weights.

    channels: of the feature map. A bias and a rectifier keep the order of values, so that they may come after the
    maxima. The kernel of our own computes in Float32: in half precision TensorFlow's is left in its place.
    """

    def __init__(self, windows: Windows, channels: int, filters: int, seed: int, name: str) -> None:
        super().__init__(name=name)
        self.windows = windows
        he = keras.initializers.HeUniform(seed)
        inputs = windows.bins * windows.frames * channels
        self.kernel = self.add_weight(shape=(inputs, filters), initializer=he, name="kernel")
        self.bias = self.add_weight(shape=(filters,), initializer="zeros", name="bias")
        self.built = True

    def call(self, maps: tf.Tensor) -> tf.Tensor:
        """Return Float32[frames', maxima, N, filters]; maps: Float32[frames, bins, N, channels]."""
        return self.by(maps, tf.convert_to_tensor(self.kernel.value), tf.convert_to_tensor(self.bias.value))

    def by(self, maps: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
        """Return what `call` does, by this kernel [inputs, filters] and, in Float32, this bias [filters]."""
        if self._by_own_kernel:
            return self._compiled(maps, kernel, bias, tf.zeros_like(bias))[0]
        maps, kernel = (tf.cast(one, self.compute_dtype) for one in (maps, kernel))
        frames, width = tf.unstack(maps), self.windows.frames
        firsts = [i * self.windows.stride_frames for i in range(self.windows.frames_after(len(frames)))]
        windows = [tf.concat(frames[first : first + width], 2) for first in firsts]
        found = tf.stack([pooled_convolution(one, kernel, self.windows.pool, self.windows.maxima) for one in windows])
        return tf.nn.relu(tf.cast(found, tf.float32) + tf.cast(bias, tf.float32))

    def by_with_moments(
        self, maps: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor, centre: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the same, and its `sums_about` the centre, [filters] each."""
        if self._by_own_kernel:
            found, moments = self._compiled(maps, kernel, bias, centre)
            return found, moments[0], moments[1]
        found = self.by(maps, kernel, bias)
        return found, *sums_about(found, centre)

    @property
    def _by_own_kernel(self) -> bool:
        return self.compiled and self.compute_dtype == "float32"

    def _compiled(
        self, maps: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor, centre: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        shape = (self.windows.bins, self.windows.frames, maps.shape[3], kernel.shape[1])
        return compiled_filters(maps, tf.reshape(kernel, shape), bias, centre, self.windows)
