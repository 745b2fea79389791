"""Features as an encoder receives them: a running level, if wanted, the corpus' moments, a running mean, if wanted."""

from collections.abc import Callable

import numpy as np

from sonorant.arrays import Features
from sonorant.models.normalisation import FeatureMoments, Normalisation
from sonorant.models.running_level import RunningLevel, peak_moments
from sonorant.models.running_mean import RunningMean, speech_moments
from sonorant.models.shared_section import NormalisedSection
from sonorant.tensorflow import keras, tf

__all__ = ["InputNormalisation"]


class InputNormalisation(keras.layers.Layer):
    """Divides by the running level, normalises over the corpus, subtracts the running mean, as the recipe says.

    Vector t depends on vectors 0..t alone, so neither padding nor the cut into chunks changes any.
    """

    def __init__(self, bins: int, recipe: NormalisedSection) -> None:
        super().__init__(name="input_normalisation")
        self.bins = bins
        self.running_level = RunningLevel(recipe.memory_vectors) if recipe.level == "running" else None
        # Names of their own, as `init_from` goes by them: moments of one kind are wrong for the other.
        of_kind = "relative_" if self.running_level else ""
        self.corpus = Normalisation(bins, name=f"{of_kind}normalisation")
        self.running_mean = (
            RunningMean(bins, recipe.memory_vectors, name=f"{of_kind}running_mean")
            if recipe.normalisation == "running"
            else None
        )
        self.built = True

    @property
    def padding(self) -> tf.Tensor:
        """Float32[bins]: a vector of features to put behind an utterance; the corpus' mean, or one of no level."""
        mean = self.corpus.mean.value
        return tf.zeros_like(mean) if self.running_level else mean

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state before the first vector: that of the running level, and that of the running mean."""
        level = self.running_level.initial_state(batch) if self.running_level else []
        return level + (self.running_mean.initial_state(batch) if self.running_mean else [])

    def call(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return `features` [B, T, bins], normalised, and the state after the last of T >= 1 vectors."""
        after: list[tf.Tensor] = []
        if self.running_level is not None:
            features, peak = self.running_level(features, state[0])
            after, state = [peak], state[1:]
        normal = self.corpus(features)
        if self.running_mean is not None:
            normal, *sums = self.running_mean(normal, *state)
            after += sums
        return normal, after

    def whole(self, features: tf.Tensor) -> tf.Tensor:
        """Return `features` [B, T, bins], which begin their utterances, normalised."""
        normal, _ = self(features, self.initial_state(tf.shape(features)[0]))
        return normal

    def set_from(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model.set_normalisation`."""
        if self.running_level is not None:
            self.running_level.set_from(add_up(peak_moments(first)))
            first = [self.running_level.whole(vectors) for vectors in first]
        self.corpus.set_from(add_up(FeatureMoments.of(first, self.bins)))
        if self.running_mean:
            mean, deviation = np.asarray(self.corpus.mean), np.asarray(self.corpus.deviation)
            self.running_mean.set_from(add_up(speech_moments(first, mean, deviation)))
