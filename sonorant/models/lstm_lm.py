"""LSTM language model: embedding, LSTM layers, softmax (Sundermeyer 2012; Zeyer 2018, which Kim 2019 fuses with)."""

from sonorant.models.half_precision import Dense
from sonorant.models.language_model import LanguageModel
from sonorant.models.lstm import Lstm
from sonorant.models.section import LstmLmRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["LstmLm"]


class LstmLm(LanguageModel):
    """Labels before to log-probabilities of units and end (the last). state: cell and hidden [B, K, cells] by layer.

    units: without the end; seed: of the first weights; bins: of feature vectors, of which there are none.
    """

    def __init__(self, recipe: LstmLmRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe, units, seed)
        self.recipe = recipe
        sizes = [recipe.embedding] + [recipe.cells] * (recipe.layers - 1)
        self.lstms = [Lstm(n, recipe.cells, seed * recipe.layers + i, f"lstm_{i}") for i, n in enumerate(sizes)]
        glorot = keras.initializers.GlorotUniform(seed=seed)
        self.projection = Dense(units + 1, kernel_initializer=glorot, name="projection")
        self.projection.build((None, recipe.cells))
        self.built = True

    def log_probs(self, labels: tf.Tensor, dropout_seed: tf.Tensor | None = None) -> tf.Tensor:
        """See `LanguageModel`; dropout is of the embedding and of each layer's outputs (Zaremba 2014)."""
        state = [tf.zeros((tf.shape(labels)[0], self.recipe.cells)) for _ in range(2 * len(self.lstms))]
        found, _ = self._advance(tf.transpose(self._before(labels)), state, dropout_seed)
        return tf.transpose(found, (1, 0, 2))

    def begin(self, batch: int | tf.Tensor, hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """See `LanguageModel`."""
        return [tf.zeros((batch, hypotheses, self.recipe.cells)) for _ in range(2 * len(self.lstms))]

    def next_label(self, before: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """See `LanguageModel`."""
        shape = tf.shape(before)  # the layers know batches, not hypotheses
        flat = [tf.reshape(tensor, (-1, self.recipe.cells)) for tensor in state]
        found, after = self._advance(tf.reshape(before, (1, -1)), flat, None)
        unflat = [tf.reshape(tensor, (shape[0], shape[1], self.recipe.cells)) for tensor in after]
        return tf.reshape(found, (shape[0], shape[1], self.symbols.size)), unflat

    def _advance(
        self, before: tf.Tensor, state: list[tf.Tensor], dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return log-probabilities [T, N, symbols] after `before`, Int32[T, N], and the state [N, cells]."""
        hidden = self.dropout(self.embedding(before), seed=dropout_seed, layer=0)
        after = []
        for i, lstm in enumerate(self.lstms):
            hidden, cell, last = lstm(hidden, state[2 * i], state[2 * i + 1])
            after += [cell, last]
            hidden = self.dropout(hidden, seed=dropout_seed, layer=i + 1)
        return tf.nn.log_softmax(self.projection(hidden)), after
