"""What families with an `AttentionDecoder` share; a family makes the encoder and the attention, and encodes."""

import abc
from collections.abc import Callable
from typing import Protocol

from sonorant.arrays import Features
from sonorant.models.applications import Applications, decoder_applications, pooled_applications
from sonorant.models.attention import Attending, Attention
from sonorant.models.attention_decoder import AttentionDecoder, Sampling
from sonorant.models.convolution import convolution_of
from sonorant.models.dropout import Dropout
from sonorant.models.family import Inputs, Outputs, Symbols
from sonorant.models.half_precision import Dense
from sonorant.models.input_normalisation import InputNormalisation
from sonorant.models.label_synchronous import DecoderStep, LabelSynchronous
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.section import BfaRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["AttentionModel", "Encoder"]

_SAMPLING = [1, 0]  # added to the seed of dropout, which adds numbers of layers to its second number


class Encoder(Protocol):
    """An encoder's part of the contract. size: of an encoded frame."""

    size: int

    def set_layers(self, count: int) -> None:
        """See `Model`."""
        ...


class AttentionModel(LabelSynchronous):
    """Features to log-probabilities of units and end (the last), label by label.

    bins: size of a stacked feature vector; units: without the end; seed: of the first weights. Features [B, T, bins]
    become encoded frames [B, T', encoded_size], and these labels' log-probabilities [B, L, units + 1], one by one; with
    `recipe.ctc` the encoded frames have log-probabilities of units and blank too, [B, T', units + 1].
    """

    encoder: Encoder

    def __init__(self, recipe: BfaRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe.family, bins, Symbols(units, end=units))
        self.recipe = recipe
        self.framing = recipe.framing
        self.normalisation = InputNormalisation(bins, recipe)
        self.convolution = convolution_of(recipe, bins, seed)
        self.batch_normalisation = self.convolution.batch_normalisation
        self.dropout = Dropout(recipe.dropout)
        self.encoder = self._new_encoder(self.convolution.size, seed * 100)
        self.encoded_size = self.encoder.size
        self.decoder = AttentionDecoder(
            self._new_attention(seed),
            encoded=self.encoded_size,
            symbols=self.symbols.size,
            cells=recipe.decoder_cells,
            embedding=recipe.embedding,
            readout=recipe.readout,
            seed=seed,
        )
        self.joint_ctc = recipe.ctc
        if recipe.ctc:
            glorot = keras.initializers.GlorotUniform(seed=seed)
            self.ctc = Dense(units + 1, kernel_initializer=glorot, name="ctc")
            self.ctc.build((None, self.encoded_size))
        self.built = True

    @abc.abstractmethod
    def _new_encoder(self, inputs: int, seed: int) -> Encoder:
        """Return the encoder of vectors of so many values."""

    @abc.abstractmethod
    def _new_attention(self, seed: int) -> Attention:
        """Return the attention to encoded frames."""

    @abc.abstractmethod
    def _encode(
        self, features: tf.Tensor, lengths: tf.Tensor, dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return what `encode` does; dropout_seed: of `Model.outputs`."""

    def _attending(self, dropout_seed: tf.Tensor | None) -> Attending | None:
        """Return what the attention is in training, where `dropout_seed` is; None: itself."""
        del dropout_seed
        return None

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `labels` where the inputs have some; `frames` with `recipe.ctc`."""
        encoded, lengths = self._encode(inputs.features, inputs.lengths, dropout_seed)
        frames = self.frame_log_probs(encoded) if self.joint_ctc else None
        if inputs.labels is None:
            return Outputs(lengths, frames)
        attended = encoded, lengths
        if inputs.hypotheses > 1:
            attended = tf.repeat(encoded, inputs.hypotheses, 0), tf.repeat(lengths, inputs.hypotheses)
        sampling = None
        if inputs.sampling is not None and dropout_seed is not None:
            sampling = Sampling(inputs.sampling, dropout_seed + tf.constant(_SAMPLING))
        labels, attention = self.decoder.teach(
            inputs.labels,
            self.decoder.attention.memory(*attended),
            sampling,
            lambda readout: self.dropout(readout, seed=dropout_seed, layer=self.recipe.layers),
            self._attending(dropout_seed),
        )
        return Outputs(lengths, frames, labels, attention)

    def encode(self, features: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """See `LabelSynchronous`."""
        return self._encode(features, lengths, None)

    def begin(
        self, encoded: tf.Tensor, lengths: tf.Tensor, hypotheses: int | tf.Tensor
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """See `LabelSynchronous`: memory is that of the attention, the state that of the decoder."""
        memory = self.decoder.attention.memory(encoded, lengths)
        return memory, self.decoder.initial_state(memory, hypotheses)

    def next_label(self, before: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> DecoderStep:
        """See `LabelSynchronous`."""
        return self.decoder.step(before, memory, state)

    def frame_log_probs(self, encoded: tf.Tensor) -> tf.Tensor:
        """See `LabelSynchronous`."""
        return tf.nn.log_softmax(self.ctc(encoded))

    def set_layers(self, count: int) -> None:
        """See `Model`."""
        self.encoder.set_layers(count)

    def applications(self, path: str, vectors: int) -> Applications:
        """See `Model`: a layer of the encoder is applied before its pooling, weights of the decoder once a label."""
        layer = path.partition("/")[0]
        if convolved := self.convolution.applications(layer, vectors):
            return convolved
        if layer.startswith("lstm_"):
            return pooled_applications(int(layer.split("_")[1]), vectors, self.recipe.pooling)
        if layer.startswith("decoder"):
            return decoder_applications(path, self.framing.frames(vectors))
        return super().applications(path, vectors)

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model`."""
        self.normalisation.set_from(first, add_up)
