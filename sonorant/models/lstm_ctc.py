"""The first streaming model: stacked uni-directional LSTM layers, a projection, CTC outputs (Graves 2006)."""

from collections.abc import Callable
from itertools import pairwise

from sonorant.arrays import Features
from sonorant.models.applications import Applications
from sonorant.models.carrying import Carrying
from sonorant.models.convolution import convolution_of
from sonorant.models.dropout import dropped
from sonorant.models.family import Inputs, Outputs, Symbols
from sonorant.models.half_precision import Dense
from sonorant.models.input_normalisation import InputNormalisation
from sonorant.models.layers_in_use import layers_in_use
from sonorant.models.lstm import Lstm
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.section import LstmCtcRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["LstmCtc"]


class LstmCtc(Carrying):
    """Features to log-probabilities of units and blank (the last), frame by frame, without look-ahead.

    bins: size of a stacked feature vector; units: without the blank; seed: of the first weights.
    Frame t depends on frames 0..t alone, so neither padding nor the cut into chunks changes any output; in training
    batch normalisation, if `recipe.convolution_2d` has it, makes it depend on the batch or chunk too.
    """

    search = "ctc"

    def __init__(self, recipe: LstmCtcRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe.family, bins, Symbols(units, blank=units))
        self.recipe = recipe
        self.normalisation = InputNormalisation(bins, recipe)
        self.convolution = convolution_of(recipe, bins, seed)
        self.batch_normalisation = self.convolution.batch_normalisation
        sizes = [self.convolution.size] + [recipe.cells] * recipe.layers
        self.encoder = [
            Lstm(inputs, cells, seed=seed * recipe.layers + i, name=f"lstm_{i}")
            for i, (inputs, cells) in enumerate(pairwise(sizes))
        ]
        self._active = tuple(range(recipe.layers))
        self.projection = Dense(
            units + 1, kernel_initializer=keras.initializers.GlorotUniform(seed=seed), name="projection"
        )
        self.projection.build((None, recipe.cells))
        self.built = True

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `frames`, one for each feature vector."""
        outputs, _ = self._carried(inputs, self.initial_state(tf.shape(inputs.features)[0]), dropout_seed)
        return outputs

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state before the first vector.

        Cell and hidden state [batch, cells] of each layer, in order; then those of the normalisation.
        """
        state = [tf.zeros((batch, self.recipe.cells)) for _ in range(2 * self.recipe.layers)]
        return state + self.normalisation.initial_state(batch)

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return log-probabilities [B, T, units + 1] of the next T >= 1 vectors [B, T, bins], and the state after."""
        return self._advance(features, None, state, None)

    def carry(
        self, chunk: Inputs, state: list[tf.Tensor], dropout_seed: tf.Tensor | None = None
    ) -> tuple[Outputs, list[tf.Tensor]]:
        """See `Carrying`."""
        return self._carried(chunk, state, dropout_seed)

    def _carried(
        self, inputs: Inputs, state: list[tf.Tensor], dropout_seed: tf.Tensor | None
    ) -> tuple[Outputs, list[tf.Tensor]]:
        lengths = None if dropout_seed is None else inputs.lengths + self.framing.tail
        log_probs, after = self._advance(inputs.features, lengths, state, dropout_seed)
        return Outputs(inputs.lengths, frames=log_probs), after

    def _advance(
        self,
        features: tf.Tensor,
        lengths: tf.Tensor | None,
        state: list[tf.Tensor],
        dropout_seed: tf.Tensor | None,
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        layers = 2 * self.recipe.layers
        normal, running = self.normalisation(features, state[layers:])
        vectors = self.convolution(normal, lengths)
        log_probs, after = self._encode(vectors, state[:layers], dropout_seed)
        return log_probs, after + running

    def applications(self, path: str, vectors: int) -> Applications:
        """See `Model`."""
        convolved = self.convolution.applications(path.partition("/")[0], vectors)
        return convolved or super().applications(path, vectors)

    def set_layers(self, count: int) -> None:
        """See `Model`."""
        self._active = layers_in_use(count, self.recipe.layers)

    @property
    def uses_all_layers(self) -> bool:
        """Whether `set_layers` has left none out."""
        return len(self._active) == self.recipe.layers

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model`."""
        self.normalisation.set_from(first, add_up)

    def _encode(
        self, vectors: tf.Tensor, state: list[tf.Tensor], dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        hidden = tf.transpose(vectors, (1, 0, 2))  # the kernel's loop takes [T, B, bins]
        after = list(state)
        for i in self._active:
            hidden, after[2 * i], after[2 * i + 1] = self.encoder[i](hidden, state[2 * i], state[2 * i + 1])
            if dropout_seed is not None and self.recipe.dropout > 0:
                hidden = self._drop(hidden, dropout_seed + tf.constant([0, i]))
        log_probs = tf.nn.log_softmax(self.projection(hidden))
        return tf.transpose(log_probs, (1, 0, 2)), after

    def _drop(self, hidden: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        shape = tf.shape(hidden)
        if self.recipe.dropout_over == "utterance":  # one mask for all frames (Gal 2016, section 4)
            shape = tf.concat([[1], shape[1:]], 0)
        return dropped(hidden, self.recipe.dropout, seed, shape)
