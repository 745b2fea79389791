"""The first streaming model: stacked uni-directional LSTM layers, a projection, CTC outputs (Graves 2006)."""

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.errors import SonorantError
from sonorant.models.lstm import Lstm
from sonorant.models.normalisation import FeatureMoments, Normalisation
from sonorant.models.running_mean import RunningMean, speech_moments
from sonorant.recipe.training import ModelRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["LstmCtc", "WrongWeights"]


class WrongWeights(SonorantError):
    """Weights that do not fit the model that the recipe describes."""

    exit_code = 65


class LstmCtc(keras.Model):
    """Features to log-probabilities of units and blank (the last), frame by frame, without looking ahead.

    bins: size of a stacked feature vector; units: without the blank; seed: of the first weights.
    Frame t depends on frames 0..t alone, so neither padding nor the cut into chunks changes any output.
    """

    def __init__(self, recipe: ModelRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(name=recipe.kind)
        self.recipe = recipe
        self.bins = bins
        self.units = units
        self.normalisation = Normalisation(bins)
        self.running_mean = RunningMean(bins, recipe.memory_vectors) if recipe.normalisation == "running" else None
        sizes = [bins] + [recipe.cells] * recipe.layers
        self.encoder = [
            Lstm(inputs, cells, seed=seed * recipe.layers + i, name=f"lstm_{i}")
            for i, (inputs, cells) in enumerate(pairwise(sizes))
        ]
        self.projection = keras.layers.Dense(
            units + 1, kernel_initializer=keras.initializers.GlorotUniform(seed=seed), name="projection"
        )
        self.projection.build((None, recipe.cells))
        self.built = True

    def call(
        self,
        features: tf.Tensor,
        lengths: tf.Tensor,
        training: bool = False,
        seed: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Return log-probabilities [B, T, units + 1].

        features: [B, T, bins], zeros from `lengths` [B] on; seed: Int32[2], needed in training for what is
        dropped, so that a resumed run drops the same.
        """
        layers = 2 * self.recipe.layers
        state = self.initial_state(tf.shape(features)[0])
        normal, _ = self._normalise(features, state[layers:])
        log_probs, _ = self._encode(normal, state[:layers], seed if training else None)
        return log_probs

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state before the first vector.

        Cell and hidden state [batch, cells] of each layer in turn; then, if there is one, those of the running mean.
        """
        state = [tf.zeros((batch, self.recipe.cells)) for _ in range(2 * self.recipe.layers)]
        return state + (self.running_mean.initial_state(batch) if self.running_mean else [])

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return log-probabilities [B, T, units + 1] of the next T >= 1 vectors [B, T, bins], and the state after."""
        layers = 2 * self.recipe.layers
        normal, running = self._normalise(features, state[layers:])
        log_probs, after = self._encode(normal, state[:layers], None)
        return log_probs, after + running

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """Learn how features are distributed from the first examples, each Float32[frames, bins].

        add_up: sums moments over the ranks, each of which calls this with its own examples.
        """
        self.normalisation.set_from(add_up(FeatureMoments.of(first, self.bins)))
        if self.running_mean:
            mean, deviation = np.asarray(self.normalisation.mean), np.asarray(self.normalisation.deviation)
            self.running_mean.set_from(add_up(speech_moments(first, mean, deviation)))

    def named_weights(self) -> dict[str, NDArray[np.float32]]:
        """Return all weights, trained or not, by path, as `lstm_0/weight`."""
        return {_path(v): np.asarray(v) for v in self.weights}

    def assign(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over what `named_weights` returned; raises WrongWeights if names or shapes differ."""
        expected = {_path(v): tuple(v.shape) for v in self.weights}
        found = {name: value.shape for name, value in weights.items()}
        if found != expected:
            wrong = sorted(k for k in expected.keys() | found.keys() if expected.get(k) != found.get(k))
            raise WrongWeights(
                f"weights {wrong[:4]}: found shapes {[found.get(k) for k in wrong[:4]]}, expected "
                f"{[expected.get(k) for k in wrong[:4]]}; use the recipe and units that the weights were trained with"
            )
        for variable in self.weights:
            variable.assign(weights[_path(variable)])

    def _normalise(self, features: tf.Tensor, running: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        normal = self.normalisation(features)
        if self.running_mean is None:
            return normal, running
        normal, *after = self.running_mean(normal, *running)
        return normal, after

    def _encode(
        self, normal: tf.Tensor, state: list[tf.Tensor], dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        hidden = tf.transpose(normal, (1, 0, 2))  # the kernel's loop wants [T, B, bins]
        after: list[tf.Tensor] = []
        for i, layer in enumerate(self.encoder):
            hidden, *last = layer(hidden, state[2 * i], state[2 * i + 1])
            after += last
            if dropout_seed is not None and self.recipe.dropout > 0:
                hidden = self._drop(hidden, dropout_seed + tf.constant([0, i]))
        log_probs = tf.nn.log_softmax(self.projection(hidden))
        return tf.transpose(log_probs, (1, 0, 2)), after

    def _drop(self, hidden: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        shape = tf.shape(hidden)
        if self.recipe.dropout_over == "utterance":  # one mask for all frames (Gal 2016, section 4)
            shape = tf.concat([[1], shape[1:]], 0)
        kept = tf.random.stateless_uniform(shape, seed) >= self.recipe.dropout
        return hidden * tf.cast(kept, hidden.dtype) / (1 - self.recipe.dropout)


def _path(variable: keras.Variable) -> str:
    """Path below the model, which Keras puts first only in some versions."""
    return "/".join(variable.path.split("/")[-2:])
