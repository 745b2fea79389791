"""The part of a family's contract that models with a decoder have, which gives label after label; see `family`."""

from typing import NamedTuple

from sonorant.models.family import Model, Streaming
from sonorant.tensorflow import tf

__all__ = ["DecoderStep", "LabelSynchronous", "Monotonic"]


class DecoderStep(NamedTuple):
    """One more label of each of K hypotheses.

    log_probs: Float32[B, K, symbols]; attention: Float32[B, K, T'], weights of the encoded frames; state: [B, K, ...].
    """

    log_probs: tf.Tensor
    attention: tf.Tensor
    state: list[tf.Tensor]


class LabelSynchronous(Model):
    """A model whose decoder gives label after label, for any number K of hypotheses of each utterance.

    The last of its `symbols` is `end`, which also stands before the first label. Neither padding nor batch-mates change
    what it makes of an utterance. encoded_size: of an encoded frame. joint_ctc: whether it has CTC too.

    What a decoder computes of the encoded frames once is its memory, tensors [B, T', ...]; its state, [B, K, ...], goes
    from label to label.
    """

    encoded_size: int
    joint_ctc = False

    def encode(self, features: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the encoded frames Float32[B, T', size] of whole utterances, and how many count, Int32[B]."""
        raise NotImplementedError

    def begin(
        self, encoded: tf.Tensor, lengths: tf.Tensor, hypotheses: int | tf.Tensor
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Return memory, and the state [B, hypotheses, ...] before the first label."""
        raise NotImplementedError

    def next_label(self, before: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> DecoderStep:
        """Return what follows the labels `before`, Int32[B, K], in the state after those before them."""
        raise NotImplementedError

    def frame_log_probs(self, encoded: tf.Tensor) -> tf.Tensor:
        """Return log-probabilities Float32[B, T', units + 1] of units and blank by encoded frame, with `joint_ctc`."""
        raise NotImplementedError


class Monotonic(Streaming, LabelSynchronous):
    """A label-synchronous model that streams: frames after the one that a label attends to do not change the label.

    Its outputs are encoded frames, [B, at_once, encoded_size] of a step. Its decoder has hypotheses side by side, each
    with the labels before and, as `state`, tensors [N, ...]: `seek` begins the search for the next label's frame,
    `look` offers it frame after frame. window: last frames that a label depends on.
    """

    window: int

    def begin_seeking(self) -> list[tf.Tensor]:
        """Return the state [1, ...] of the hypothesis without labels, before `seek`."""
        raise NotImplementedError

    def seek(self, before: tf.Tensor, state: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return the state [N, ...] in which hypotheses seek a frame for what follows the labels `before`, Int32[N]."""
        raise NotImplementedError

    def look(self, frames: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """Return which hypotheses attend, Bool[N], their log-probabilities [N, symbols], and the state for `seek`.

        frames: [at most `window`, encoded_size], the last of those so far; the last one is offered. Without frames the
        utterance is over, and all attend to nothing. Where a hypothesis does not attend, the others have no meaning.
        """
        raise NotImplementedError
