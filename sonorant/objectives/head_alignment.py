"""Alignment of monotonic attention's heads with joint CTC (CTC-synchronous training; Inaguma & Kawahara 2020).

In expectation a label may gather its context from heads that stop at any of several frames, none of them with a
probability above one half, where the hard head of recognition passes all of them and skips the label. CTC's spikes say
where each label is: the head that stops there with a probability above one half stops there when it is hard.
"""

import numpy as np

from sonorant.tensorflow import tf

__all__ = ["ctc_spikes", "head_alignment_loss"]

_LEAST = 1e-30  # probability below which a head has no gradient; float32 ends at 1e-38


def ctc_spikes(log_probs: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor, label_lengths: tf.Tensor) -> tf.Tensor:
    """Return Int32[B, L]: the frame of each label's highest probability on CTC's most probable path of the labels.

    log_probs: [B, T, units + 1], blank last; arguments as of `ctc_loss`. Frames of padding, and of labels that do not
    fit, have no meaning. The path is that of `force_align`, for a batch, in the graph.
    """
    log_probs = tf.stop_gradient(log_probs)
    blank = tf.shape(log_probs)[2] - 1
    symbols = _with_blanks(labels, blank)
    emitted = tf.gather(log_probs, tf.tile(symbols[:, tf.newaxis], (1, tf.shape(log_probs)[1], 1)), batch_dims=2)
    states = _most_probable(emitted, lengths, _may_skip(symbols, blank), label_lengths)
    numbers = tf.range(tf.shape(labels)[1])
    within = tf.sequence_mask(lengths, tf.shape(log_probs)[1])
    on_path = within[..., tf.newaxis] & (states[:, :, tf.newaxis] == 2 * numbers + 1)  # [B, T, L]
    return tf.argmax(tf.where(on_path, emitted[:, :, 1::2], -np.inf), 1, tf.int32)


def head_alignment_loss(heads: tf.Tensor, frames: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Return Float32[B]: minus the log-probability that each head stops where its label is, summed over labels and end.

    The head of the end stops at no frame. heads: [B, L + 1, T], the heads' distributions, each one's end after the
    first `lengths`, Int32[B]; frames: Int32[B, L].
    """
    there = tf.gather(heads[:, :-1], frames, batch_dims=2)
    present = tf.sequence_mask(lengths, tf.shape(frames)[1])
    at_end = tf.reduce_sum(tf.gather(heads, lengths, batch_dims=1), -1)
    return -tf.reduce_sum(tf.where(present, _log(there), 0.0), 1) - _log(1 - at_end)


def _log(probability: tf.Tensor) -> tf.Tensor:
    return tf.math.log(tf.maximum(probability, _LEAST))


def _with_blanks(labels: tf.Tensor, blank: tf.Tensor) -> tf.Tensor:
    """Return Int32[B, 2 L + 1]: the symbols of CTC's states, blanks before, between and after the labels."""
    between = tf.reshape(tf.stack([tf.fill(tf.shape(labels), blank), labels], 2), (tf.shape(labels)[0], -1))
    return tf.clip_by_value(tf.pad(between, ((0, 0), (0, 1)), constant_values=-1), -1, blank) % (blank + 1)


def _may_skip(symbols: tf.Tensor, blank: tf.Tensor) -> tf.Tensor:
    """Return Bool[B, S]: whether a state may follow the last but one before it."""
    before = tf.pad(symbols, ((0, 0), (2, 0)), constant_values=-1)[:, :-2]
    return (symbols != blank) & (symbols != before)


def _most_probable(emitted: tf.Tensor, lengths: tf.Tensor, may_skip: tf.Tensor, label_lengths: tf.Tensor) -> tf.Tensor:
    """Return Int32[B, T]: the state of each frame on the most probable path; emitted: [B, T, S], log-probabilities."""
    frames = tf.shape(emitted)[1]
    emitted = tf.pad(tf.transpose(emitted, (1, 0, 2)), ((0, 1), (0, 0), (0, 0)))  # tf.scan needs one after the first
    within = tf.transpose(tf.sequence_mask(lengths, tf.shape(emitted)[0]))[..., tf.newaxis]  # [T, B, 1]
    first = tf.where(tf.range(tf.shape(emitted)[2]) < 2, emitted[0], -np.inf)

    def advance(before: tuple[tf.Tensor, tf.Tensor], at: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        best, _ = before
        scores, here = at
        one, two = (tf.pad(best, ((0, 0), (back, 0)), constant_values=-np.inf)[:, :-back] for back in (1, 2))
        ways = tf.stack([best, one, tf.where(may_skip, two, -np.inf)])
        after = tf.reduce_max(ways, 0) + scores
        back = tf.argmax(ways, 0, tf.int32)
        return tf.where(here, after, best), tf.where(here, back, 0)

    nothing = tf.zeros(tf.shape(first), tf.int32)
    best, back = tf.scan(advance, (emitted[1:], within[1:]), (first, nothing))
    best = tf.concat([first[tf.newaxis], best], 0)[-1]
    ends = tf.stack([2 * label_lengths, 2 * label_lengths - 1], 1)
    state = tf.gather(ends, tf.argmax(tf.gather(best, ends, batch_dims=1), 1), batch_dims=1)
    earlier = tf.scan(lambda at, steps: at - tf.gather(steps, at, batch_dims=1), back, state, reverse=True)
    return tf.transpose(earlier[:frames])
