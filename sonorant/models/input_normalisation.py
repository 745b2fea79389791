"""Features as an encoder receives them: each bin's mean and deviation of the corpus, and a running mean if wanted."""

from collections.abc import Callable

import numpy as np

from sonorant.arrays import Features
from sonorant.models.normalisation import FeatureMoments, Normalisation
from sonorant.models.running_mean import RunningMean, speech_moments
from sonorant.models.section import NormalisedSection
from sonorant.tensorflow import keras, tf

__all__ = ["InputNormalisation"]


class InputNormalisation(keras.layers.Layer):
    """Normalisation over the corpus, then, where the recipe says `running`, less the running mean of the speech so far.

    Vector t depends on vectors 0..t alone, so neither padding nor the cut into chunks changes any.
    """

    def __init__(self, bins: int, recipe: NormalisedSection) -> None:
        super().__init__(name="input_normalisation")
        self.bins = bins
        self.corpus = Normalisation(bins)
        self.running_mean = RunningMean(bins, recipe.memory_vectors) if recipe.normalisation == "running" else None
        self.built = True

    @property
    def mean(self) -> tf.Tensor:
        """Float32[bins]: the corpus' mean vector."""
        return self.corpus.mean.value

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state before the first vector: that of the running mean, or none."""
        return self.running_mean.initial_state(batch) if self.running_mean else []

    def call(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return `features` [B, T, bins], normalised, and the state after the last of T >= 1 vectors."""
        normal = self.corpus(features)
        if self.running_mean is None:
            return normal, []
        normal, *after = self.running_mean(normal, *state)
        return normal, after

    def whole(self, features: tf.Tensor) -> tf.Tensor:
        """Return `features` [B, T, bins], which begin their utterances, normalised."""
        normal, _ = self(features, self.initial_state(tf.shape(features)[0]))
        return normal

    def set_from(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model.set_normalisation`."""
        self.corpus.set_from(add_up(FeatureMoments.of(first, self.bins)))
        if self.running_mean:
            mean, deviation = np.asarray(self.corpus.mean), np.asarray(self.corpus.deviation)
            self.running_mean.set_from(add_up(speech_moments(first, mean, deviation)))
