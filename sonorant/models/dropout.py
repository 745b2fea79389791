"""Dropout (Srivastava 2014) whose rate is a weight that is not trained, so that training may anneal it."""

from sonorant.tensorflow import keras, tf

__all__ = ["Dropout"]


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
        rate = tf.convert_to_tensor(self.rate.value)
        kept = tf.random.stateless_uniform(tf.shape(values), seed + tf.constant([0, layer])) >= rate
        return values * tf.cast(kept, values.dtype) / (1 - rate)
