"""Layers whose products of matrices may be of half precision: of bfloat16 or float16 operands (Micikevicius 2018).

Their weights, what they take and what they return are Float32 all the same: so are normalisation, softmax, attention,
losses and the sums of gradients, without a word about it elsewhere.
"""

from sonorant.tensorflow import keras, tf

__all__ = ["Conv1D", "Dense", "HalfPrecision", "product"]


class HalfPrecision(keras.layers.Layer):
    """A layer that multiplies in its `compute_dtype`, and returns Float32."""


class Dense(HalfPrecision, keras.layers.Dense):
    """Keras' dense layer."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return Float32[..., units]; inputs: [..., n]."""
        return tf.cast(super().call(inputs), tf.float32)


class Conv1D(HalfPrecision, keras.layers.Conv1D):
    """Keras' convolution over time."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return Float32[B, T', filters]; inputs: [B, T, n]."""
        return tf.cast(super().call(inputs), tf.float32)


def product(inputs: tf.Tensor, weight: tf.Tensor, dtype: str) -> tf.Tensor:
    """Return Float32[..., m]: inputs [..., n] times weight [n, m], with operands of that type."""
    return tf.cast(tf.tensordot(tf.cast(inputs, dtype), tf.cast(weight, dtype), 1), tf.float32)
