"""Alignment of monotonic attention's heads with joint CTC (CTC-synchronous training; Inaguma & Kawahara 2020).

In expectation a label may gather its context from heads that stop at any of several frames, none of them with a
probability above one half, where the hard head of recognition passes all of them and skips the label. CTC's spikes say
where each label is: the head that stops there with a probability above one half stops there when it is hard.
"""

import numpy as np
from numpy.typing import NDArray

from sonorant.ctc import kernels
from sonorant.models.kernel_calls import call_kernel, kernel_threads
from sonorant.tensorflow import tf

__all__ = ["ctc_spikes", "delayed", "head_alignment_loss"]

_Floats = NDArray[np.float32]
_Integers = NDArray[np.int32]

_LEAST = 1e-30  # probability below which a head has no gradient; float32 ends at 1e-38


def ctc_spikes(log_probs: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor, label_lengths: tf.Tensor) -> tf.Tensor:
    """Return Int32[B, L]: the frame of each label's highest probability on CTC's most probable path of the labels.

    log_probs: [B, T, units + 1], blank last; arguments as of `ctc_loss`. Frames of padding, and of labels that do not
    fit, have no meaning. The path is that of `force_align`.
    """
    numbers = (tf.cast(one, tf.int32) for one in (lengths, labels, label_lengths))
    (frames,) = call_kernel(_spikes, [tf.stop_gradient(log_probs), *numbers], [tf.int32])
    frames.set_shape(labels.shape)
    return frames


def delayed(frames: tf.Tensor, delay: int, lengths: tf.Tensor) -> tf.Tensor:
    """Return frames Int32[B, L] so much later, but none behind an utterance's last; lengths: Int32[B]."""
    return tf.minimum(frames + delay, tf.maximum(lengths[:, tf.newaxis], 1) - 1)


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


def _spikes(log_probs: _Floats, lengths: _Integers, labels: _Integers, label_lengths: _Integers) -> _Integers:
    spikes = np.empty(labels.shape, np.int32)
    kernels.ctc_spikes(log_probs, lengths, labels, label_lengths, kernel_threads(), spikes)
    return spikes
