"""Truncated unrolling for losses of whole utterances, CTC above all (Google 2017, section 3, Eq. 1 to 3).

What the paper does, for sequence training: outer derivatives of the loss by the outputs come from a forward pass over
the entire utterance, with a snapshot θ' of the weights; the inner derivatives are of batches "with limited unrolling",
where the loss of each is auxiliary,

    L_AUX(X, θ) = sum over t and k of w(x_t, k, θ') log p_θ(k | x_t).

It names CTC as the alternative to cross-entropy of frames, and says no more of it; CTC is here such a loss.

What is the same here: all of that, where θ' are the weights before the batch, so that w is stale by at most the chunks
of a batch. Dropout is the same in both passes.

What differs: w is the outer derivative by log p, minus the symbol's posterior, and not the one by logits, p_θ' minus
the posterior. Where θ = θ' they have the same gradient. Elsewhere L_AUX by logits is linear in these, without a
minimum; by log p it is a cross-entropy, which bounds the loss (see `ByPaths`). The paper leaves out the examples whose
w is most stale; none is left out here.
"""

from collections.abc import Sequence
from typing import cast

from sonorant.models.family import Outputs
from sonorant.objectives.objective import BatchTensors, ByPaths, Losses, Padded
from sonorant.tensorflow import graph_function, tf
from sonorant.training.chunks import BEGINS
from sonorant.training.truncated_step import TruncatedStep

__all__ = ["SoftAlignedStep"]


class SoftAlignedStep(TruncatedStep):
    """A `TruncatedStep` of a `ByPaths` objective.

    Before the steps of a batch it finds the soft alignments of its utterances. Reported figures are theirs, so of the
    weights before the batch; in a chunk's an utterance has the share of its frames.
    """

    def _trace(self) -> None:
        super()._trace()
        rates, seed, _ = self._other_inputs()
        of_chunks = [self._chunk_signature, self._state_signature, seed]
        self._frames_graph = graph_function(self._frames, input_signature=of_chunks)
        targets = self._chunk_signature.targets
        of_batch = [
            tf.TensorSpec([None, None, None, self.model.symbols.size], tf.float32),
            tf.nest.map_structure(lambda spec: tf.TensorSpec([None, *spec.shape], spec.dtype), targets),
            tf.TensorSpec([rates.shape[0] - 1], tf.float32),
        ]
        self._align_graph = graph_function(self._align, input_signature=of_batch)

    def _loss_inputs_signature(self) -> list[tf.TensorSpec]:
        symbols, reports = self.model.symbols.size, len(self.objective.reports)
        return [tf.TensorSpec([None, None, symbols], tf.float32), tf.TensorSpec([None, reports], tf.float32)]

    def _loss_inputs(self, chunks: Sequence[BatchTensors], step: int) -> list[list[tf.Tensor]]:
        nothing = [
            tf.zeros([1 if size is None else size for size in spec.shape]) for spec in self._loss_inputs_signature()
        ]
        if not chunks:
            return [nothing]
        state, frames = self._first_state(chunks), []
        for number, chunk in enumerate(chunks):
            self._on_chunk()
            of_chunk, state = self._frames_graph(chunk, state, self._seed(step + number))
            frames.append(of_chunk)
        targets = tf.nest.map_structure(lambda *tensors: tf.stack(tensors), *(chunk.targets for chunk in chunks))
        aligned = map(tf.unstack, self._align_graph(tf.stack(frames), targets, self._rates(step)[1:]))
        return [*map(list, zip(*aligned, strict=True)), nothing]

    def _losses(self, outputs: Outputs, chunk: BatchTensors, loss_inputs: Sequence[tf.Tensor]) -> Losses:
        occupancies, figures = loss_inputs
        assert outputs.frames is not None
        loss = -tf.reduce_sum(occupancies * outputs.frames, (1, 2))
        return Losses(loss, dict(zip(self.objective.reports, tf.unstack(figures, axis=1), strict=True)))

    def _frames(
        self, chunk: BatchTensors, state: list[tf.Tensor], seed: tf.Tensor
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        outputs, after = self._outputs_and_state(chunk, state, seed)
        return outputs.frames, after

    def _align(self, frames: tf.Tensor, targets: dict[str, Padded], schedule: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return occupancies [C, R, vectors, symbols] and shares of figures [C, R, reports].

        frames: [C, R, vectors, symbols]; targets: of `ChunkLayout`.
        """
        begins = targets[BEGINS].values[:, :, 0]
        first = tf.where(begins > 0)  # [N, 2]: the chunk in which each utterance begins, and its row
        lengths = tf.gather_nd(begins, first)
        present = tf.sequence_mask(lengths)[:, :, tf.newaxis]  # [N, T, 1]
        positions = self._positions(tf.cast(first, tf.int32), tf.shape(present)[1], tf.shape(frames))
        padding = self.objective.padding
        whole = {name: Padded(*(tf.gather_nd(part, first) for part in targets[name])) for name in padding}
        due = tf.where(present[:, :, 0], tf.gather_nd(targets["frames"].values, positions), padding["frames"])
        whole["frames"] = Padded(due, lengths)
        alignment = cast(ByPaths, self.objective).soft_alignment(
            Outputs(lengths, frames=tf.gather_nd(frames, positions)), whole, schedule
        )
        figures = tf.stack([alignment.reported[name] for name in self.objective.reports], 1)
        shares = (figures / tf.cast(lengths, tf.float32)[:, tf.newaxis])[:, tf.newaxis]  # [N, 1, reports]
        return (
            _scattered(positions, tf.where(present, alignment.occupancies, 0.0), tf.shape(frames)),
            tf.reduce_sum(_scattered(positions, tf.where(present, shares, 0.0), tf.shape(frames)), 2),
        )

    def _positions(self, first: tf.Tensor, longest: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
        """Return Int32[N, longest, 3]: chunk, row and vector that completes each frame; for absent ones, any."""
        chunks, vectors = shape[0], shape[2]
        since = tf.range(longest) + first[:, :1] * vectors + self._recipe.model.framing.lead
        complete = tf.minimum(since, chunks * vectors - 1)
        rows = tf.broadcast_to(first[:, 1:], tf.shape(complete))
        return tf.stack([complete // vectors, rows, complete % vectors], 2)


def _scattered(positions: tf.Tensor, values: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Return [C, R, vectors, size] with the values [N, T, size], zeros elsewhere; shape: of `frames`."""
    return tf.scatter_nd(positions, values, tf.concat([shape[:3], tf.shape(values)[2:]], 0))
