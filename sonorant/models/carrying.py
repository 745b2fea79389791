"""What truncated unrolling needs of a family: chunks of utterances, and the state carried from one to the next."""

from sonorant.models.family import Inputs, Outputs, Streaming
from sonorant.tensorflow import tf

__all__ = ["Carrying"]


class Carrying(Streaming):
    """A streaming model with a frame for each vector (`framing.block` 1) that is trained chunk by chunk, too.

    The section of its family says `carries_state`.
    """

    def carry(
        self, chunk: Inputs, state: list[tf.Tensor], dropout_seed: tf.Tensor | None = None
    ) -> tuple[Outputs, list[tf.Tensor]]:
        """Return the outputs of the next T >= 1 vectors of each stream, and the state after them.

        chunk: features [B, T, bins], of which `lengths` are the utterance's; behind them an utterance is over, and
        `padding` follows. `frames`, [B, T, symbols], has void ones too, the first `framing.lead` of a stream.
        """
        raise NotImplementedError
