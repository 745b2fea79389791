"""A layer of filters: a convolution along an axis, the maxima of neighbouring positions, a bias and a rectifier."""

from sonorant.models.half_precision import HalfPrecision
from sonorant.models.pooled_convolution import pooled_convolution
from sonorant.tensorflow import keras, tf

__all__ = ["PooledFilters"]


class PooledFilters(HalfPrecision):
    """A `pooled_convolution` and a rectifier: `count` maxima, each over `pool` positions.

    inputs: values in a window. A bias and a rectifier keep the order of values, so that they may come after the maxima.
    """

    def __init__(self, inputs: int, filters: int, pool: int, count: int, seed: int, name: str) -> None:
        super().__init__(name=name)
        self.pool, self.count = pool, count
        he = keras.initializers.HeUniform(seed)
        self.kernel = self.add_weight(shape=(inputs, filters), initializer=he, name="kernel")
        self.bias = self.add_weight(shape=(filters,), initializer="zeros", name="bias")
        self.built = True

    def call(self, values: tf.Tensor) -> tf.Tensor:
        """Return Float32[count, N, filters]; values: Float32[bins, N, n], `inputs` / n bins in a window."""
        return self.by(values, self.kernel.value, self.bias.value)

    def by(self, values: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
        """Return what `call` does, by this kernel and, in Float32, this bias."""
        values, kernel = (tf.cast(one, self.compute_dtype) for one in (values, kernel))
        found = pooled_convolution(values, kernel, self.pool, self.count)
        return tf.nn.relu(tf.cast(found, tf.float32) + tf.cast(bias, tf.float32))
