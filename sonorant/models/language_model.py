"""A language model's contract with training, export and searches: the families of models of text.

- It is a `Model` whose utterances are text: of `Inputs` it takes `labels` alone, and its feature vectors, one for each
  label and the end, have no values (`bins` is 0), so that batches are formed by length as those of speech are.
- Its outputs are `labels`: log-probabilities of each label, given those before it, and of the end.
- Searches extend many hypotheses by a label at a time: `begin` and `next_label` give the same log-probabilities with
  explicit state. All hypotheses of a step have the same number of labels.
"""

from collections.abc import Callable

from sonorant.arrays import Features
from sonorant.models.applications import Applications
from sonorant.models.dropout import Dropout
from sonorant.models.family import Inputs, Model, Outputs, Symbols
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.section import LstmLmRecipe, TransformerLmRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["LanguageModel"]


class LanguageModel(Model):
    """A model of text. Its symbols are the units and, last, `end`, which also stands before the first label.

    It begins with an embedding of the label before, Float32[symbols, embedding], and dropout of it.
    """

    def __init__(self, recipe: LstmLmRecipe | TransformerLmRecipe, units: int, seed: int) -> None:
        super().__init__(name=recipe.family, bins=0, symbols=Symbols(units, end=units))
        self.end = units
        self.dropout = Dropout(recipe.dropout)
        normal = keras.initializers.RandomNormal(0, 0.1, seed=seed)
        self.embedding = keras.layers.Embedding(units + 1, recipe.embedding, normal, name="embedding")
        self.embedding.build(None)

    def log_probs(self, labels: tf.Tensor, dropout_seed: tf.Tensor | None = None) -> tf.Tensor:
        """Return log-probabilities [B, L + 1, symbols] of what follows each of the first 0 to L labels, Int32[B, L].

        What stands behind a sentence's last label changes nothing before it.
        """
        raise NotImplementedError

    def begin(self, batch: int | tf.Tensor, hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state [batch, hypotheses, ...] before the first label."""
        raise NotImplementedError

    def next_label(self, before: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return log-probabilities [B, K, symbols] of what follows the labels `before`, Int32[B, K], and the state."""
        raise NotImplementedError

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `labels`."""
        assert inputs.labels is not None, "a language model is trained on labels"
        return Outputs(inputs.lengths, labels=self.log_probs(inputs.labels, dropout_seed))

    def applications(self, path: str, vectors: int) -> Applications:
        """See `Model`: once a label; an embedding is looked up."""
        return Applications() if path.startswith("embedding/") else Applications(label=1)

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model`: there is nothing to normalise."""

    def sentence_log_probs(self, labels: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Return Float32[B]: log-probabilities of whole sentences, Int32[B, L] of these lengths, and their ends."""
        present = tf.sequence_mask(lengths, tf.shape(labels)[1])
        due = tf.pad(tf.where(present, labels, self.end), ((0, 0), (0, 1)), constant_values=self.end)
        chosen = tf.gather(self.log_probs(labels), due, batch_dims=2)
        return tf.reduce_sum(tf.where(tf.sequence_mask(lengths + 1, tf.shape(due)[1]), chosen, 0.0), 1)

    def _before(self, labels: tf.Tensor) -> tf.Tensor:
        """Return Int32[B, L + 1]: the label before each of L labels and the end; padding may be anything."""
        return tf.pad(tf.clip_by_value(labels, 0, self.end), ((0, 0), (1, 0)), constant_values=self.end)
