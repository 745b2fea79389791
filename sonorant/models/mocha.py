"""Monotonic chunkwise attention: the streaming encoder-decoder model of Kim 2019 (arXiv 1912.11040), section 3.

A block of vectors that an utterance's end cuts off is filled up with the corpus' mean, in training and in streams.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.models.applications import Applications, decoder_applications, pooled_applications
from sonorant.models.attention_decoder import AttentionDecoder, Sampling
from sonorant.models.convolution import convolution_of
from sonorant.models.dropout import Dropout
from sonorant.models.family import DecoderStep, Inputs, Monotonic, Outputs, Symbols
from sonorant.models.half_precision import Dense
from sonorant.models.input_normalisation import InputNormalisation
from sonorant.models.monotonic_attention import ExpectedAttention, MonotonicAttention
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.section import MochaRecipe
from sonorant.models.unidirectional import UnidirectionalEncoder
from sonorant.tensorflow import keras, tf

__all__ = ["Mocha"]

# Added to the seed of dropout, which adds numbers of layers to its second number.
_SAMPLING, _NOISE = [1, 0], [2, 0]


class Mocha(Monotonic):
    """Features to log-probabilities of units and end (the last), label by label, as soon as their frames are there.

    bins: size of a stacked feature vector; units: without the end; seed: of the first weights. With `recipe.ctc` the
    encoded frames have log-probabilities of units and blank too.
    """

    search = "monotonic"

    def __init__(self, recipe: MochaRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe.family, bins, Symbols(units, end=units))
        self.recipe = recipe
        self.framing = recipe.framing
        self.window = recipe.chunk
        self.normalisation = InputNormalisation(bins, recipe)
        self.convolution = convolution_of(recipe, bins, seed)
        self.batch_normalisation = self.convolution.batch_normalisation
        inputs = self.convolution.size
        self.dropout = Dropout(recipe.dropout)
        self.encoder = UnidirectionalEncoder(inputs, recipe.layers, recipe.cells, recipe.pooling, seed * 100)
        self.encoded_size = self.encoder.size
        attention = MonotonicAttention(
            self.encoded_size,
            recipe.decoder_cells,
            recipe.attention,
            recipe.chunk,
            recipe.energy_offset,
            seed,
            recipe.energy_scale,
        )
        self.decoder = AttentionDecoder(
            attention,
            encoded=self.encoded_size,
            symbols=self.symbols.size,
            cells=recipe.decoder_cells,
            embedding=recipe.embedding,
            readout=recipe.readout,
            seed=seed,
        )
        self.monotonic_attention = attention
        self.joint_ctc = recipe.ctc
        if recipe.ctc:
            glorot = keras.initializers.GlorotUniform(seed=seed)
            self.ctc = Dense(units + 1, kernel_initializer=glorot, name="ctc")
            self.ctc.build((None, self.encoded_size))
        self.built = True

    @property
    def latency(self) -> int:
        """See `Streaming`: a frame is for all of its block, and the tail only fills up the last one."""
        return self.framing.block

    @property
    def padding(self) -> NDArray[np.float32]:
        """See `Streaming` and `InputNormalisation`."""
        return np.asarray(self.normalisation.padding)

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `labels` where the inputs have some; `frames` with `recipe.ctc`.

        Attention is in expectation, with noise, where there is dropout, that is in training; else hard. In expectation
        `attention` is the distribution of each label's head.
        """
        encoded, lengths = self._encode(inputs.features, inputs.lengths, dropout_seed)
        frames = self.frame_log_probs(encoded) if self.joint_ctc else None
        if inputs.labels is None:
            return Outputs(lengths, frames)
        sampling = expected = None
        if dropout_seed is not None:
            expected = ExpectedAttention(self.monotonic_attention, dropout_seed + tf.constant(_NOISE))
            if inputs.sampling is not None:
                sampling = Sampling(inputs.sampling, dropout_seed + tf.constant(_SAMPLING))
        labels, attention = self.decoder.teach(
            inputs.labels,
            self.monotonic_attention.memory(encoded, lengths),
            sampling,
            lambda readout: self.dropout(readout, seed=dropout_seed, layer=self.recipe.layers),
            expected,
        )
        return Outputs(lengths, frames, labels, attention)

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """See `Streaming`: that of the encoder, then that of the normalisation."""
        return self.encoder.initial_state(batch) + self.normalisation.initial_state(batch)

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the encoded frame [B, 1, encoded_size] of the next block, and the state after it; see `Streaming`."""
        layers = 2 * self.recipe.layers
        normal, running = self.normalisation(features, state[layers:])
        vectors = self.convolution.one_by_one(normal)
        encoded, after = self.encoder.encode(vectors, state[:layers], lambda hidden, layer: hidden)
        return encoded, after + running

    def encode(self, features: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """See `LabelSynchronous`."""
        return self._encode(features, lengths, None)

    def begin(
        self, encoded: tf.Tensor, lengths: tf.Tensor, hypotheses: int | tf.Tensor
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """See `LabelSynchronous`: memory is that of the attention, the state that of the decoder."""
        memory = self.monotonic_attention.memory(encoded, lengths)
        return memory, self.decoder.initial_state(memory, hypotheses)

    def next_label(self, before: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> DecoderStep:
        """See `LabelSynchronous`."""
        return self.decoder.step(before, memory, state)

    def frame_log_probs(self, encoded: tf.Tensor) -> tf.Tensor:
        """See `LabelSynchronous`."""
        return tf.nn.log_softmax(self.ctc(encoded))

    def begin_seeking(self) -> list[tf.Tensor]:
        """See `Monotonic`: cell, hidden state and context of the decoder, and the label before."""
        return [*self.decoder.unattended(1), tf.fill((1,), self.symbols.size - 1)]

    def seek(self, before: tf.Tensor, state: list[tf.Tensor]) -> list[tf.Tensor]:
        """See `Monotonic`."""
        *decoder, _ = state
        return [*self.decoder.query(before, decoder), decoder[-1], before]

    def look(self, frames: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """See `Monotonic`; the readout, most of the work, is only computed where anyone attends."""
        cell, hidden, _, before = state
        attends, context = self.monotonic_attention.look(hidden, frames)
        log_probs = tf.cond(
            tf.reduce_any(attends),
            lambda: self.decoder.read(before, hidden, context),
            lambda: tf.zeros((tf.shape(before)[0], self.symbols.size)),
        )
        return attends, log_probs, [cell, hidden, context, before]

    def set_layers(self, count: int) -> None:
        """See `Model`."""
        self.encoder.set_layers(count)

    def applications(self, path: str, vectors: int) -> Applications:
        """See `Model`: each frame is looked at once, and again by the label that attends to it."""
        layer, name = path.split("/")
        frames = self.framing.frames(vectors)
        if convolved := self.convolution.applications(layer, vectors):
            return convolved
        if layer.startswith("lstm_"):
            return pooled_applications(int(layer.split("_")[1]), vectors, self.recipe.pooling)
        if layer in ("monotonic", "chunkwise"):
            each = self.window if layer == "chunkwise" and name in ("key", "energy") else 1
            return Applications(audio=each * frames, label=each)
        return (
            decoder_applications(path, frames) if layer.startswith("decoder") else super().applications(path, vectors)
        )

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """See `Model`."""
        self.normalisation.set_from(first, add_up)

    def _encode(
        self, features: tf.Tensor, lengths: tf.Tensor, dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        block = self.encoder.block
        encoded_lengths = -(-lengths // block)
        padded = tf.pad(features, ((0, 0), (0, -tf.shape(features)[1] % block), (0, 0)))
        present = tf.sequence_mask(lengths, tf.shape(padded)[1])[:, :, tf.newaxis]
        normal = self.normalisation.whole(tf.where(present, padded, self.normalisation.padding))
        encoded, _ = self.encoder.encode(
            self.convolution(normal, None if dropout_seed is None else block * encoded_lengths),
            self.encoder.initial_state(tf.shape(features)[0]),
            lambda hidden, layer: self.dropout(hidden, seed=dropout_seed, layer=layer),
        )
        return encoded, encoded_lengths
