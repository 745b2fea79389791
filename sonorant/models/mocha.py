"""Monotonic chunkwise attention: the streaming encoder-decoder model of Kim 2019 (arXiv 1912.11040), section 3.

What an utterance's end cuts off, of a block of vectors or of what its last frames look ahead to, is filled up with the
corpus' mean, in training and in streams.
"""

import numpy as np
from numpy.typing import NDArray

from sonorant.models.applications import Applications
from sonorant.models.attention import Attending
from sonorant.models.attention_model import AttentionModel
from sonorant.models.label_synchronous import Monotonic
from sonorant.models.latency_controlled import LatencyControlledEncoder
from sonorant.models.monotonic_attention import ExpectedAttention, MonotonicAttention
from sonorant.models.section import MochaRecipe
from sonorant.models.unidirectional import UnidirectionalEncoder
from sonorant.tensorflow import tf

__all__ = ["Mocha"]

_NOISE = [2, 0]  # added to the seed of dropout, as `AttentionModel` does for sampling


class Mocha(AttentionModel, Monotonic):
    """Features to log-probabilities of units and end (the last), label by label, as soon as their frames are there.

    In training attention is in expectation, with noise; else it is hard. In expectation the outputs' `attention` is the
    distribution of each label's head.

    [B, T, bins] to encoded frames [B, T', cells], with `look_ahead` [B, T', 2 cells], T' = ceil(T / product of
    `pooling`); with labels [B, L] before, to log-probabilities [B, L + 1, units + 1] (see `Inputs` and `Outputs`).
    """

    search = "monotonic"
    recipe: MochaRecipe
    encoder: UnidirectionalEncoder | LatencyControlledEncoder

    def __init__(self, recipe: MochaRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe, bins, units, seed)
        self.window = recipe.chunk

    @property
    def receptive_field(self) -> tuple[int | None, int | None]:
        """See `Model`."""
        return None, self.latency - 1

    @property
    def latency(self) -> int:
        """See `Streaming`: a frame is for all of its block, and padding stands for what an utterance lacks."""
        return self.framing.vectors_for(1)

    @property
    def padding(self) -> NDArray[np.float32]:
        """See `Streaming` and `InputNormalisation`."""
        return np.asarray(self.normalisation.padding)

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """See `Streaming`: that of the encoder, then that of the normalisation."""
        return self.encoder.initial_state(batch) + self.normalisation.initial_state(batch)

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return encoded frames [B, at_once, encoded_size] of the next step, and the state after; see `Streaming`."""
        states = self.encoder.states
        normal, running = self.normalisation(features, state[states:])
        encoded, after = self.encoder.step(self.convolution.one_by_one(normal), state[:states])
        return encoded, after + running

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
        attends, context = self._attention.look(hidden, frames)
        log_probs = tf.cond(
            tf.reduce_any(attends),
            lambda: self.decoder.read(before, hidden, context),
            lambda: tf.zeros((tf.shape(before)[0], self.symbols.size)),
        )
        return attends, log_probs, [cell, hidden, context, before]

    def applications(self, path: str, vectors: int) -> Applications:
        """See `AttentionModel`: each frame is looked at once, and again by the label that attends to it.

        What runs backwards does so through its own chunk and the one after it.
        """
        layer, name = path.split("/")
        if layer.endswith("_backward"):
            return Applications(audio=2 * super().applications(path, vectors).audio)
        if layer not in ("monotonic", "chunkwise"):
            return super().applications(path, vectors)
        each = self.window if layer == "chunkwise" and name in ("key", "energy") else 1
        return Applications(audio=each * self.framing.frames(vectors), label=each)

    def products(self, vectors: int) -> dict[str, Applications]:
        """See `Model`: the weighted sum over a chunk, as often as its energies are computed."""
        each = self.window * self.encoded_size
        return {"chunkwise": Applications(audio=each * self.framing.frames(vectors), label=each)}

    @property
    def _attention(self) -> MonotonicAttention:
        attention = self.decoder.attention
        assert isinstance(attention, MonotonicAttention)
        return attention

    def _new_encoder(self, inputs: int, seed: int) -> UnidirectionalEncoder | LatencyControlledEncoder:
        layers = inputs, self.recipe.layers, self.recipe.cells, self.recipe.pooling
        if self.recipe.look_ahead:
            return LatencyControlledEncoder(*layers, self.recipe.look_ahead, seed)
        return UnidirectionalEncoder(*layers, seed)

    def _new_attention(self, seed: int) -> MonotonicAttention:
        recipe = self.recipe
        sizes = self.encoded_size, recipe.decoder_cells, recipe.attention, recipe.chunk
        return MonotonicAttention(*sizes, recipe.energy_offset, seed, recipe.energy_scale)

    def _attending(self, dropout_seed: tf.Tensor | None) -> Attending | None:
        if dropout_seed is None:
            return None
        return ExpectedAttention(self._attention, dropout_seed + tf.constant(_NOISE))

    def _encode(
        self, features: tf.Tensor, lengths: tf.Tensor, dropout_seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        block, vectors = self.framing.block, tf.shape(features)[1]
        encoded_lengths, frames = -(-lengths // block), -(-vectors // block)
        padded = tf.pad(features, ((0, 0), (0, self.framing.vectors_for(frames) - vectors), (0, 0)))
        present = tf.sequence_mask(lengths, tf.shape(padded)[1])[:, :, tf.newaxis]
        normal = self.normalisation.whole(tf.where(present, padded, self.normalisation.padding))
        encoded = self.encoder.encode(
            self.convolution(normal, None if dropout_seed is None else self.framing.vectors_for(encoded_lengths)),
            lambda hidden, layer: self.dropout(hidden, seed=dropout_seed, layer=layer),
        )
        # By a split, whose gradient takes a tenth of that of an index.
        encoded, _ = tf.split(encoded, [frames, -1], 1)
        return encoded, encoded_lengths
