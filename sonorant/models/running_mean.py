"""Running mean over the speech of an utterance so far: takes away what room and microphone add, while it streams.

Silence says little about the channel's effect on speech, so each vector counts by a soft gate on its level. Vectors
z_t are normalised already; with decay a = exp(-1 / memory),

    w_t = sigmoid(6 (mean(z_t) - 0.2)),   S_t = a S_{t-1} + w_t z_t,   N_t = a N_{t-1} + w_t,   y_t = z_t - S_t / N_t,

where S and N begin with a quarter of the memory filled with the corpus' mean speech vector.
"""

import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.models.normalisation import FeatureMoments

__all__ = ["RunningMean", "speech_moments"]

_SPEECH_LEVEL = 0.2  # in standard deviations above the mean over speech and silence
_STEEPNESS = 6.0
_PRIOR = 0.25  # of the memory


class RunningMean(keras.layers.Layer):
    """Subtracts the running mean of each bin; `prior`, the mean speech vector, is set once and not trained."""

    def __init__(self, bins: int, memory_vectors: float, name: str = "running_mean") -> None:
        super().__init__(name=name)
        self._memory_vectors = memory_vectors
        self.prior = self.add_weight(shape=(bins,), initializer="zeros", trainable=False, name="prior")
        self.built = True

    def set_from(self, moments: FeatureMoments) -> None:
        """Take over the mean of `speech_moments`; without any vector nothing changes."""
        if moments.count:
            self.prior.assign(moments.mean)

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return S [batch, bins] and N [batch, 1] before the first vector."""
        count = _PRIOR * self._memory_vectors
        return [tf.tile(count * self.prior.value[tf.newaxis, :], (batch, 1)), tf.fill((batch, 1), float(count))]

    def call(self, normal: tf.Tensor, total: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return `normal` [B, T, bins] less its running mean, and S and N after the last of T >= 1 vectors."""
        decay = math.exp(-1 / self._memory_vectors)
        level = tf.reduce_mean(normal, axis=2, keepdims=True)
        gate = tf.sigmoid(_STEEPNESS * (level - _SPEECH_LEVEL))
        sums = tf.concat([gate * normal, gate], axis=2)  # S and N obey the same recurrence
        first = sums[:, :1] + decay * tf.concat([total, count], axis=1)[:, tf.newaxis, :]
        sums = _decaying_sums(tf.concat([first, sums[:, 1:]], axis=1), decay)
        return normal - sums[..., :-1] / sums[..., -1:], sums[:, -1, :-1], sums[:, -1, -1:]


def speech_moments(features: list[Features], mean: NDArray[Any], deviation: NDArray[Any]) -> FeatureMoments:
    """Return the sums over the normalised vectors of `features` whose level says that somebody speaks."""
    normal = [(vectors - mean) / deviation for vectors in features]
    speech = [vectors[vectors.mean(axis=1) > _SPEECH_LEVEL] for vectors in normal]
    return FeatureMoments.of([vectors.astype(np.float32) for vectors in speech], len(mean))


def _decaying_sums(terms: tf.Tensor, decay: float) -> tf.Tensor:
    """Return y_t = decay y_{t-1} + terms_t along axis 1, in log2(T) passes (Hillis and Steele 1986).

    After pass i, y_t holds its last 2^(i+1) terms, so adding what stands 2^(i+1) before doubles that.
    """
    frames = tf.shape(terms)[1]

    def double(reach: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        earlier = tf.pad(sums[:, : frames - reach], ((0, 0), (reach, 0), (0, 0)))
        return 2 * reach, sums + decay ** tf.cast(reach, tf.float32) * earlier

    shapes = (tf.TensorShape([]), tf.TensorShape([None, None, terms.shape[2]]))
    _, sums = tf.while_loop(lambda reach, _: reach < frames, double, (tf.constant(1), terms), shapes)
    return tf.stop_gradient(sums)
