"""Running mean over the speech of an utterance so far: removes the colouring of room and microphone, online.

Silence says little about the channel's effect on speech, so each vector counts by a soft gate on its level. The gate
opens 0.8 below the level's recent peak, so that a soft voice opens it as a loud one does; the peak falls slowly, for
a soft speaker after a loud one. Vectors z_t are normalised already; with l_t = mean(z_t), a = exp(-1 / memory),

    p_t = max(p_{t-1} - 0.01, l_t),   w_t = sigmoid(6 (l_t - p_t + 0.8)),
    S_t = a S_{t-1} + w_t z_t,        N_t = a N_{t-1} + w_t,                 y_t = z_t - S_t / N_t,

where S and N begin with a quarter of the memory filled with the corpus' mean speech vector, and p at -0.8.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.models.kernel_calls import HasKernel
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.running import decaying_sums, falling_peaks
from sonorant.tensorflow import keras, tf

__all__ = ["RunningMean", "speech_moments"]

# Levels are in standard deviations from the mean over speech and silence.
_SPEECH_LEVEL = 0.2
_BELOW_PEAK = 0.8  # speech is within it
_FALL = 0.01  # of the peak from vector to vector
_LOWEST_PEAK = -0.8  # its initial value: soft voices are above it, most noise below
_STEEPNESS = 6.0
_PRIOR = 0.25  # of the memory


class RunningMean(HasKernel, keras.layers.Layer):
    """Subtracts the running mean of each bin; `prior`, the mean speech vector, is set once and not trained."""

    def __init__(self, bins: int, memory_vectors: float, name: str = "running_mean") -> None:
        super().__init__(name=name)
        self._memory_vectors = memory_vectors
        self._decay = math.exp(-1 / memory_vectors)
        self.prior = self.add_weight(shape=(bins,), initializer="zeros", trainable=False, name="prior")
        self.built = True

    def set_from(self, moments: FeatureMoments) -> None:
        """Set the mean of `speech_moments`; without any vector nothing changes."""
        if moments.count:
            self.prior.assign(moments.mean)

    @property
    def constants(self) -> tf.Tensor:
        """Float32[4]: a, how much the peak falls, and the gate's steepness and depth below the peak."""
        return tf.constant([self._decay, _FALL, _STEEPNESS, _BELOW_PEAK])

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return S [batch, bins], N [batch, 1] and p [batch, 1] before the first vector."""
        count = _PRIOR * self._memory_vectors
        total = tf.tile(count * self.prior.value[tf.newaxis, :], (batch, 1))
        return [total, tf.fill((batch, 1), float(count)), tf.fill((batch, 1), _LOWEST_PEAK)]

    def call(
        self, normal: tf.Tensor, total: tf.Tensor, count: tf.Tensor, peak: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return `normal` [B, T, bins] less its running mean, and S, N and p after the last of T >= 1 vectors."""
        level = tf.reduce_mean(normal, axis=2, keepdims=True)
        levels = tf.concat([peak[:, tf.newaxis, :], level], axis=1)
        peaks = falling_peaks(levels, _FALL, compiled=self.compiled)[:, 1:]
        gate = tf.sigmoid(_STEEPNESS * (level - peaks + _BELOW_PEAK))
        sums = tf.concat([gate * normal, gate], axis=2)  # S and N obey the same recurrence
        first = sums[:, :1] + self._decay * tf.concat([total, count], axis=1)[:, tf.newaxis, :]
        sums = decaying_sums(tf.concat([first, sums[:, 1:]], axis=1), self._decay, compiled=self.compiled)
        return normal - sums[..., :-1] / sums[..., -1:], sums[:, -1, :-1], sums[:, -1, -1:], peaks[:, -1]


def speech_moments(features: list[Features], mean: NDArray[Any], deviation: NDArray[Any]) -> FeatureMoments:
    """Return the sums over the normalised vectors of `features` whose level is that of speech."""
    normal = [(vectors - mean) / deviation for vectors in features]
    speech = [vectors[vectors.mean(axis=1) > _SPEECH_LEVEL] for vectors in normal]
    return FeatureMoments.of([vectors.astype(np.float32) for vectors in speech], len(mean))
