"""A strided convolution, LSTM layers with peepholes, batch normalisation, CTC, with words or characters for units.

A thesis on serving speech recognizers has them (its models M19 and M31 to M34, chapters 4 and 6):

    x -> batch normalisation -> convolution (no padding) -> rectifier -> batch normalisation
      -> (LSTM -> batch normalisation -> dropout) for each layer -> projection -> rectifier -> log softmax

The thesis adds a constant to its forget gates that is annealed with the dropout; here they have a trained bias.
"""

from collections.abc import Callable
from itertools import pairwise

from sonorant.arrays import Features
from sonorant.models.batch_normalisation import BatchNormalisation
from sonorant.models.dropout import Dropout
from sonorant.models.family import Inputs, Outputs, Streaming, Symbols
from sonorant.models.half_precision import Conv1D, Dense
from sonorant.models.layers_in_use import layers_in_use
from sonorant.models.lstm import Lstm
from sonorant.models.normalisation import FeatureMoments, Normalisation
from sonorant.models.section import ConvLstmCtcRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["ConvLstmCtc"]

_LOGITS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "linear": tf.identity,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
}


class ConvLstmCtc(Streaming):
    """Features to log-probabilities of units and blank (the last), a frame for every `stride` vectors.

    bins: size of a stacked feature vector; units: without the blank; seed: of the first weights.
    """

    search = "ctc"

    def __init__(self, recipe: ConvLstmCtcRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe.family, bins, Symbols(units, blank=units))
        self.recipe = recipe
        self.framing = recipe.framing
        self.normalisation = Normalisation(bins)
        self.convolution = Conv1D(
            recipe.filters,
            recipe.width_vectors,
            strides=recipe.stride,
            kernel_initializer=keras.initializers.GlorotUniform(seed=seed),
            name="convolution",
        )
        self.convolution.build((None, None, bins))
        sizes = [recipe.filters] + [recipe.cells] * recipe.layers
        self.encoder = [
            Lstm(inputs, cells, seed=seed * recipe.layers + i, name=f"lstm_{i}", peepholes=recipe.peepholes)
            for i, (inputs, cells) in enumerate(pairwise(sizes))
        ]
        names = {"inputs_normal": bins, "convolution_normal": recipe.filters}
        names |= {f"lstm_{i}_normal": recipe.cells for i in range(recipe.layers)}
        normal = [BatchNormalisation(n, name) for name, n in names.items()] if recipe.batch_normalisation else []
        self._normal = normal
        self._active = tuple(range(recipe.layers))
        self.drop = Dropout(recipe.dropout)
        self.projection = Dense(
            units + 1, kernel_initializer=keras.initializers.GlorotUniform(seed=seed), name="projection"
        )
        self.projection.build((None, recipe.cells))
        self.built = True

    @property
    def batch_normalisation(self) -> list[BatchNormalisation]:  # type: ignore[override]
        """See `Model`: of the input, the convolution, and the layers in use."""
        return [self._normal[i] for i in (0, 1, *(2 + i for i in self._active))] if self._normal else []

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `frames`, one for every `stride` vectors that a whole window of the convolution begins with."""
        width, stride, training = self.recipe.width_vectors, self.recipe.stride, dropout_seed is not None
        lengths = tf.maximum((inputs.lengths - width) // stride + 1, 0)
        present = _present(inputs.lengths, tf.shape(inputs.features)[1]) if training else None
        normal = self._normalised(0, self.normalisation(inputs.features), present)
        short = tf.maximum(width - tf.shape(normal)[1], 0)  # at least one frame, which no length counts then
        hidden = self.convolution(tf.pad(normal, ((0, 0), (0, short), (0, 0))))
        present = _present(lengths, tf.shape(hidden)[1]) if training else None
        state = self.initial_state(tf.shape(hidden)[0])[2:]
        log_probs, _ = self._encode(hidden, present, state, dropout_seed)
        return Outputs(lengths, frames=log_probs)

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state before the first vector.

        Vectors that the next windows begin with [batch, lead stride, bins], blocks so far [batch, 1], then cell and
        hidden state [batch, cells] of each layer in turn.
        """
        history = tf.zeros((batch, self.framing.lead * self.framing.block, self.bins))
        states = [tf.zeros((batch, self.recipe.cells)) for _ in range(2 * self.recipe.layers)]
        return [history, tf.zeros((batch, 1)), *states]

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return log-probabilities [B, 1, units + 1] of the next block [B, stride, bins], and the state after it.

        Layers keep their state until the first window is whole.
        """
        history, blocks, *states = state
        normal = self._normalised(0, self.normalisation(features), None)
        vectors = tf.concat([history, normal], 1)
        hidden = self.convolution(vectors[:, : self.recipe.width_vectors])
        log_probs, after = self._encode(hidden, None, states, None)
        whole = blocks >= self.framing.lead
        after = [tf.where(whole, new, old) for new, old in zip(after, states, strict=True)]
        later = tf.ensure_shape(vectors[:, self.framing.block :], history.shape)
        return log_probs, [later, blocks + 1, *after]

    def set_layers(self, count: int) -> None:
        """See `Model`."""
        self._active = layers_in_use(count, self.recipe.layers)

    def set_dropout(self, rate: float) -> None:
        """See `Model`."""
        self.drop.rate.assign(rate)

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model`."""
        self.normalisation.set_from(add_up(FeatureMoments.of(first, self.bins)))

    def _encode(
        self, hidden: tf.Tensor, present: tf.Tensor | None, state: list[tf.Tensor], dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return log-probabilities [B, T', units + 1] of the convolution's frames, and the layers' state after them."""
        hidden = self._normalised(1, tf.nn.relu(hidden), present)
        hidden = tf.transpose(hidden, (1, 0, 2))  # the kernel's loop wants [T', B, filters]
        present = None if present is None else tf.transpose(present, (1, 0, 2))
        after = list(state)
        for i in self._active:
            hidden, after[2 * i], after[2 * i + 1] = self.encoder[i](hidden, state[2 * i], state[2 * i + 1])
            hidden = self.drop(self._normalised(2 + i, hidden, present), seed=dropout_seed, layer=i)
        log_probs = tf.nn.log_softmax(_LOGITS[self.recipe.logits](self.projection(hidden)))
        return tf.transpose(log_probs, (1, 0, 2)), after

    def _normalised(self, layer: int, values: tf.Tensor, present: tf.Tensor | None) -> tf.Tensor:
        return self._normal[layer](values, present=present) if self._normal else values


def _present(lengths: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
    return tf.sequence_mask(lengths, frames, tf.float32)[:, :, tf.newaxis]
