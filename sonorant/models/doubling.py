"""Running combinations along time, such as sums and peaks, in log2(T) passes (Hillis and Steele 1986)."""

from collections.abc import Callable

from sonorant.tensorflow import tf

__all__ = ["doubling", "earlier"]


def doubling(values: tf.Tensor, combine: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """Return a running combination along axis 1 in log2(T) passes; no gradient goes through it.

    After pass i, each value stands for the last 2^(i+1); combining it with what stands 2^(i+1) before doubles that. The
    passes are a loop of the graph where T is not known before.
    """
    if values.shape[1] is not None:
        for i in range((values.shape[1] - 1).bit_length()):
            values = combine(values, tf.constant(2**i))
        return tf.stop_gradient(values)
    frames = tf.shape(values)[1]
    shapes = (tf.TensorShape([]), tf.TensorShape([None, None, values.shape[2]]))
    _, combined = tf.while_loop(
        lambda reach, _: reach < frames,
        lambda reach, so_far: (2 * reach, combine(so_far, reach)),
        (tf.constant(1), values),
        shapes,
    )
    return tf.stop_gradient(combined)


def earlier(values: tf.Tensor, reach: tf.Tensor, before: float) -> tf.Tensor:
    """Return the values as they were `reach` vectors before; `before` is used before the first."""
    return tf.pad(values[:, : tf.shape(values)[1] - reach], ((0, 0), (reach, 0), (0, 0)), constant_values=before)
