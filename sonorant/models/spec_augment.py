"""SpecAugment: masks over bins and over time (Park 2019, section 2; no time warping), inside the training step."""

from dataclasses import dataclass

import tensorflow as tf

__all__ = ["SpecAugment"]


@dataclass(frozen=True)
class SpecAugment:
    """Sets random bands of normalised features to 0, which is their mean.

    stack: frames in a stacked vector; a frequency mask covers the same mel bins in each of them.
    Widths are uniform over 0..widest; a time mask never covers more than a fifth of an utterance (Park's p = 0.2).
    """

    stack: int
    frequency_masks: int
    frequency_mask_bins: int
    time_masks: int
    time_mask_vectors: int

    def __call__(self, normal: tf.Tensor, lengths: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return masked features.

        normal: [B, T, stack * mel bins], normalised; lengths: Int32[B]; seed: Int32[2].
        """
        batch, frames = tf.shape(normal)[0], tf.shape(normal)[1]
        if self.frequency_masks:
            mel_bins = normal.shape[2] // self.stack
            widest = tf.fill([batch], float(min(self.frequency_mask_bins, mel_bins)))
            bins = tf.fill([batch], float(mel_bins))
            keep = _bands(mel_bins, bins, widest, self.frequency_masks, seed + tf.constant([0, 101]))
            normal *= tf.tile(keep, (1, self.stack))[:, tf.newaxis, :]
        if self.time_masks:
            length = tf.cast(lengths, tf.float32)
            widest = tf.minimum(float(self.time_mask_vectors), 0.2 * length)
            normal *= _bands(frames, length, widest, self.time_masks, seed + tf.constant([0, 102]))[:, :, tf.newaxis]
        return normal


def _bands(size: int | tf.Tensor, length: tf.Tensor, widest: tf.Tensor, masks: int, seed: tf.Tensor) -> tf.Tensor:
    """Return Float32[B, size]: 0 in `masks` random bands inside [0, length), at most `widest` wide, 1 elsewhere."""
    uniform = tf.random.stateless_uniform(tf.stack([2, tf.shape(length)[0], masks]), seed)
    width = tf.floor(uniform[0] * (widest[:, tf.newaxis] + 1))
    start = tf.floor(uniform[1] * (length[:, tf.newaxis] - width + 1))
    place = tf.range(size, dtype=tf.int32)[tf.newaxis, tf.newaxis, :]
    place = tf.cast(place, tf.float32)
    inside = (place >= start[..., tf.newaxis]) & (place < (start + width)[..., tf.newaxis])
    return 1 - tf.cast(tf.reduce_any(inside, axis=1), tf.float32)
