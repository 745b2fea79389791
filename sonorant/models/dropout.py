"""Dropout (Srivastava 2014) whose rate is a weight that is not trained, so that training may anneal it."""

from sonorant.tensorflow import keras, tf

__all__ = ["Dropout", "dropped"]

_VALUES = 2**16  # of a random integer, two of which come from one draw of 32 bits


class Dropout(keras.layers.Layer):
    """Drops values in training, and scales the others so that their expectation stays."""

    def __init__(self, rate: float, name: str = "dropout") -> None:
        super().__init__(name=name)
        self.rate = self.add_weight(
            shape=(), initializer=keras.initializers.Constant(rate), trainable=False, name="rate"
        )
        self.built = True

    def call(self, values: tf.Tensor, seed: tf.Tensor | None = None, layer: int = 0) -> tf.Tensor:
        """Return `values` of any shape, of which a share is 0; without a seed they stay.

        seed: Int32[2], of the step; layer: number of the layer whose values they are, each of which draws its own.
        """
        if seed is None:
            return values
        return dropped(values, tf.convert_to_tensor(self.rate.value), seed + tf.constant([0, layer]), tf.shape(values))


def dropped(values: tf.Tensor, rate: tf.Tensor | float, seed: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Return `values`, each dropped with probability `rate`, to the nearest of 65,536 parts, or scaled.

    shape: of the mask, 1 where an axis shares it. Drawing takes most of the time, so that 16 bits have to do for each.
    """
    size = tf.reduce_prod(shape)
    pairs = tf.random.stateless_uniform([(size + 1) // 2], seed, None, None, tf.int32)
    drawn = tf.reshape(tf.bitcast(pairs, tf.int16), [-1])[:size]  # from -2^15 on
    dropped_values = tf.minimum(tf.round(rate * _VALUES), _VALUES - 1.0)  # none is dropped for certain
    kept = drawn >= tf.cast(dropped_values - _VALUES // 2, tf.int16)
    mask = tf.cast(kept, values.dtype) * (_VALUES / (_VALUES - dropped_values))
    return values * tf.reshape(mask, shape)
