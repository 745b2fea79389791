"""An LSTM's gates, in the order of the columns of its weight and bias: input, cell candidate, forget, output gate."""

from sonorant.tensorflow import tf

__all__ = ["GATES", "flat"]

GATES = 4


def flat(sequence: tf.Tensor) -> tf.Tensor:
    """Return [..., n] as rows [N, n]: gradients of weights are one product over all steps."""
    return tf.reshape(sequence, (-1, sequence.shape[-1]))
