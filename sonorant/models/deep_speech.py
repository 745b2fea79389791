"""Deep Speech (Hannun et al. 2014, section 2): five layers of clipped rectifiers, one of them recurrent, and CTC.

With g(z) = min(max(0, z), 20), x_{t-C..t+C} a vector and its context, and t every `stride`-th vector (section 3.3):

    h1_t = g(W1 x_{t-C..t+C} + b1),   h2_t = g(W2 h1_t + b2),   h3_t = g(W3 h2_t + b3),
    f_t = g(W4 h3_t + b4 + Wf f_{t-1}),   b_t = g(W4 h3_t + b4 + Wb b_{t+1}),
    h5_t = g(W5 (f_t + b_t) + b5),   log-probabilities: log softmax(W6 h5_t + b6).
"""

from collections.abc import Callable

from sonorant.arrays import Features
from sonorant.models.clipped_recurrence import ClippedRecurrence, clipped
from sonorant.models.dropout import Dropout
from sonorant.models.family import Inputs, Model, Outputs, Symbols
from sonorant.models.half_precision import Conv1D, Dense
from sonorant.models.input_normalisation import InputNormalisation
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.section import DeepSpeechRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["DeepSpeech"]


class DeepSpeech(Model):
    """Features of a whole utterance to log-probabilities of units and blank (the last).

    bins: size of a stacked feature vector; units: without the blank; seed: of the first weights.
    Beyond an utterance its context is the corpus' mean vector, in a padded batch as alone.
    """

    search = "ctc"

    def __init__(self, recipe: DeepSpeechRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe.family, bins, Symbols(units, blank=units))
        self.recipe = recipe
        self.framing = recipe.framing
        self.normalisation = InputNormalisation(bins, recipe)
        self.drop = Dropout(recipe.dropout)
        self.hidden_1 = Conv1D(
            recipe.cells,
            2 * recipe.context_vectors + 1,
            strides=recipe.stride,
            kernel_initializer=keras.initializers.HeNormal(seed=5 * seed),
            name="hidden_1",
        )
        self.hidden_1.build((None, None, bins))
        self.hidden_2, self.hidden_3, self.hidden_4, self.hidden_5 = (
            self._dense(f"hidden_{n}", recipe.cells, recipe.cells, keras.initializers.HeNormal(seed=5 * seed + n - 1))
            for n in (2, 3, 4, 5)
        )
        self.recurrence = ClippedRecurrence(recipe.cells, recipe.ceiling, seed, name="recurrence")
        self.projection = self._dense(
            "projection", recipe.cells, units + 1, keras.initializers.GlorotUniform(seed=seed)
        )
        self.built = True

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `frames`, one for every `stride` feature vectors, the last of which may be fewer."""
        lengths = (inputs.lengths + self.recipe.stride - 1) // self.recipe.stride
        hidden = self._rectified(self.hidden_1(self._with_context(inputs)), dropout_seed, 1)
        hidden = self._rectified(self.hidden_2(hidden), dropout_seed, 2)
        hidden = self._rectified(self.hidden_3(hidden), dropout_seed, 3)
        hidden = self.recurrence(self.hidden_4(hidden), lengths)
        hidden = self._rectified(self.hidden_5(hidden), dropout_seed, 5)
        return Outputs(lengths, frames=tf.nn.log_softmax(self.projection(hidden)))

    def set_dropout(self, rate: float) -> None:
        """See `Model`."""
        self.drop.rate.assign(rate)

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model`."""
        self.normalisation.set_from(first, add_up)

    def _with_context(self, inputs: Inputs) -> tf.Tensor:
        """Return normalised vectors [B, T + 2 C, bins], 0 before and after each utterance."""
        present = tf.sequence_mask(inputs.lengths, tf.shape(inputs.features)[1], tf.float32)
        normal = self.normalisation.whole(inputs.features) * present[:, :, tf.newaxis]
        context = self.recipe.context_vectors
        return tf.pad(normal, ((0, 0), (context, context), (0, 0)))

    def _rectified(self, hidden: tf.Tensor, dropout_seed: tf.Tensor | None, layer: int) -> tf.Tensor:
        return self.drop(clipped(hidden, self.recipe.ceiling), seed=dropout_seed, layer=layer)

    @staticmethod
    def _dense(name: str, inputs: int, outputs: int, initializer: keras.initializers.Initializer) -> Dense:
        layer = Dense(outputs, kernel_initializer=initializer, name=name)
        layer.build((None, inputs))
        return layer
