"""Running level of an utterance: a soft voice comes out as a loud one, online.

A gain g multiplies each value E^c of the power law by g^2c, so a division by a level of the utterance removes it. That
of mean power normalisation (Kim and Stern 2016, PNCC) is a running mean of power, before the power law, which needs
seconds to follow a gain; this one is the recent peak, which speech reaches within its first syllable. With
l_t = mean(x_t), b = exp(-0.1 / memory), and f the least level,

    p_t = max(b p_{t-1}, l_t, f),   y_t = x_t / p_t,   p before the first vector: f.

f is 0.63 of the corpus' mean peak, 30 dB below it with c = 1/15: what is softer stays soft, as silence should.
"""

import math

import numpy as np

from sonorant.arrays import Features
from sonorant.models.kernel_calls import HasKernel
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.running import decaying_peaks
from sonorant.tensorflow import keras, tf

__all__ = ["RunningLevel", "peak_moments"]

_FALL = 0.1  # of the peak, as a power of e, in a memory
_FLOOR = 0.63  # of the mean peak


class RunningLevel(HasKernel, keras.layers.Layer):
    """Divides power-law features by the running peak of their level; `floor` is set once and not trained."""

    def __init__(self, memory_vectors: float, name: str = "running_level") -> None:
        super().__init__(name=name)
        self._kept = math.exp(-_FALL / memory_vectors)
        self.floor = self.add_weight(shape=(1,), initializer="ones", trainable=False, name="floor")
        self.built = True

    def set_from(self, peaks: FeatureMoments) -> None:
        """Set the floor from `peak_moments`; without any utterance, or of silence alone, nothing changes."""
        if peaks.count and peaks.mean[0] > 0:
            self.floor.assign(_FLOOR * peaks.mean)

    @property
    def constants(self) -> tf.Tensor:
        """Float32[2]: b and f."""
        return tf.concat([[self._kept], self.floor.value], 0)

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return p [batch, 1] before the first vector."""
        return [tf.tile(self.floor.value[tf.newaxis, :], (batch, 1))]

    def call(self, features: tf.Tensor, peak: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return `features` [B, T, bins] over their running peak, and p after the last of T >= 1 vectors."""
        level = tf.maximum(tf.reduce_mean(features, axis=2, keepdims=True), self.floor.value)
        levels = tf.concat([peak[:, tf.newaxis, :], level], axis=1)
        peaks = decaying_peaks(levels, self._kept, compiled=self.compiled)[:, 1:]
        return features / peaks, peaks[:, -1]

    def whole(self, features: Features) -> Features:
        """Return `features`, the Float32[frames, bins] of an utterance, over their running peak."""
        if not len(features):
            return features
        relative, _ = self(tf.constant(features[np.newaxis]), *self.initial_state(1))
        return np.asarray(relative[0])


def peak_moments(features: list[Features]) -> FeatureMoments:
    """Return the sums over the highest level of each of `features`, Float32[frames, bins]."""
    peaks = [vectors.mean(axis=1).max(keepdims=True)[:, None] for vectors in features if len(vectors)]
    return FeatureMoments.of(peaks, 1)
