"""Recurrent layers of clipped rectifiers, several directions at once, with a gradient of their own.

Only the recurrence is a loop, forward and backward; the gradient of the weights is one product over all steps.
"""

from collections.abc import Callable

from sonorant.tensorflow import custom_gradient, keras, tf

__all__ = ["ClippedRecurrence", "clipped"]


def clipped(values: tf.Tensor, ceiling: float | tf.Tensor) -> tf.Tensor:
    """Return g(z) = min(max(0, z), ceiling); as one op, forward and backward, where `tf.clip_by_value` makes two."""
    return tf.raw_ops.ClipByValue(t=values, clip_value_min=0.0, clip_value_max=ceiling)


class ClippedRecurrence(keras.layers.Layer):
    """h_t = g(a_t + h_{t-1} W) with h_{-1} = 0, for each of D directions with weights of its own.

    The weights begin orthogonal: with rectifiers, which halve the second moment, h then has that of a.
    """

    def __init__(self, directions: int, cells: int, ceiling: float, seed: int, name: str) -> None:
        super().__init__(name=name)
        self.ceiling = ceiling

        def orthogonal(shape: tuple[int, ...], dtype: object = None) -> tf.Tensor:
            seeds = range(seed * directions, (seed + 1) * directions)
            return tf.stack([keras.initializers.Orthogonal(seed=one)((cells, cells)) for one in seeds])

        self.weight = self.add_weight(shape=(directions, cells, cells), initializer=orthogonal, name="weight")
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return h [T, D, B, cells] of a, `inputs` [T, D, B, cells]."""
        return _recurrence(inputs, tf.convert_to_tensor(self.weight.value), tf.constant(self.ceiling))


@custom_gradient
def _recurrence(
    inputs: tf.Tensor, weight: tf.Tensor, ceiling: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor, None]]]:
    steps = tf.shape(inputs)[0]
    start = tf.zeros_like(inputs[0])

    def advance(t: tf.Tensor, before: tf.Tensor, written: tf.TensorArray) -> tuple[tf.Tensor, ...]:
        hidden = clipped(inputs[t] + tf.matmul(before, weight), ceiling)
        return t + 1, hidden, written.write(t, hidden)

    hiddens = _loop(steps, lambda t: t < steps, advance, (tf.constant(0), start), inputs.shape[1:])

    def gradient(d_hiddens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, None]:
        passes = tf.cast((hiddens > 0) & (hiddens < ceiling), tf.float32)
        transposed = tf.transpose(weight, (0, 2, 1))

        def back(t: tf.Tensor, d_later: tf.Tensor, written: tf.TensorArray) -> tuple[tf.Tensor, ...]:
            d_input = (d_hiddens[t] + d_later) * passes[t]
            return t - 1, tf.matmul(d_input, transposed), written.write(t, d_input)

        d_inputs = _loop(steps, lambda t: t >= 0, back, (steps - 1, start), inputs.shape[1:])
        before = tf.concat([start[tf.newaxis], hiddens[:-1]], 0)
        d_weight = tf.matmul(_by_direction(before), _by_direction(d_inputs), transpose_a=True)
        return d_inputs, d_weight, None

    return hiddens, gradient


def _loop(
    steps: tf.Tensor,
    goes_on: Callable[[tf.Tensor], tf.Tensor],
    body: Callable[..., object],
    start: tuple[tf.Tensor, ...],
    shape: tf.TensorShape,
) -> tf.Tensor:
    written = tf.TensorArray(tf.float32, steps, element_shape=shape)
    *_, written = tf.while_loop(lambda t, *_: goes_on(t), body, (*start, written))
    return written.stack()


def _by_direction(sequence: tf.Tensor) -> tf.Tensor:
    """[T, D, B, n] as [D, T B, n]."""
    directions, cells = sequence.shape[1], sequence.shape[3]
    return tf.reshape(tf.transpose(sequence, (1, 0, 2, 3)), (directions, -1, cells))
