"""Utterances reversed in time, for the backward direction of bidirectional layers (Schuster 1997)."""

from collections.abc import Callable

from sonorant.tensorflow import custom_gradient, tf

__all__ = ["reversed_utterances"]


@custom_gradient
def reversed_utterances(
    sequence: tf.Tensor, lengths: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, None]]]:
    """Return each utterance reversed in time, its padding left where it is.

    sequence: [T, B, n]; lengths: Int32[B], each of 0 to T. As `tf.reverse_sequence`, which moves one number at a time;
    here rows of n are copied whole, in the gradient too.
    """
    steps, rows = tf.unstack(tf.shape(sequence)[:2])
    step = tf.range(steps)[:, tf.newaxis]
    source = tf.where(step < lengths, lengths - 1 - step, step) * rows + tf.range(rows)

    def rearranged(given: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(given, (-1, sequence.shape[2]))
        return tf.reshape(tf.gather(flat, tf.reshape(source, [-1])), tf.shape(given))

    return rearranged(sequence), lambda d_reversed: (rearranged(d_reversed), None)
