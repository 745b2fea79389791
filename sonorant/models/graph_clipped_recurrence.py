"""The recurrence of clipped rectifiers in both directions by TensorFlow's operations, which run anywhere.

Only the recurrence is a loop, forward and backward, of both directions at once; the gradient of the weights is one
product over all steps. The formulae are in `clipped_recurrence.py`.
"""

from collections.abc import Callable

from sonorant.models.reversal import reversed_utterances
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["clipped", "graph_clipped_recurrence"]


def clipped(values: tf.Tensor, ceiling: float | tf.Tensor) -> tf.Tensor:
    """Return g(z) = min(max(0, z), ceiling); as one op, forward and backward, where `tf.clip_by_value` makes two."""
    return tf.raw_ops.ClipByValue(t=values, clip_value_min=0.0, clip_value_max=ceiling)


def graph_clipped_recurrence(inputs: tf.Tensor, lengths: tf.Tensor, weight: tf.Tensor, ceiling: float) -> tf.Tensor:
    """Return f + b [B, T, cells] of `inputs` [B, T, cells]; in padding b is 0.

    lengths: Int32[B], each of 0 to T; weight: [2, cells, cells].
    """
    forward = tf.transpose(inputs, (1, 0, 2))
    backward = reversed_utterances(forward, lengths)
    hidden = _recurrence(tf.stack([forward, backward], 1), weight, tf.constant(ceiling))  # [T, 2, B, cells]
    forward, backward = tf.unstack(hidden, axis=1)  # whose gradient is a stack; that of a slice is padded
    present = tf.range(tf.shape(forward)[0])[:, tf.newaxis] < lengths
    backward = tf.where(present[..., tf.newaxis], reversed_utterances(backward, lengths), 0.0)
    return tf.transpose(forward + backward, (1, 0, 2))


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
