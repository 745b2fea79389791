"""Gradient accumulation: sums over several batches, until there are enough of them for a step."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf
from sonorant.training.checkpoint_files import BadCheckpoint

__all__ = ["Accumulation", "check_sums"]


class Accumulation:
    """Sums of the batches since the last step, the same on every rank, as each batch is summed over the ranks.

    needed: batches of a step.
    """

    def __init__(self, needed: int) -> None:
        self.needed = needed
        self.batches = 0
        self._sums: list[tf.Tensor] = []

    @property
    def complete(self) -> bool:
        """Whether there are enough batches for a step."""
        return self.batches >= self.needed

    @property
    def sums(self) -> list[tf.Tensor]:
        """The sums so far; empty without a batch."""
        return self._sums

    def add(self, summed: Sequence[tf.Tensor]) -> None:
        """Add the sums of one more batch."""
        self._sums = [a + b for a, b in zip(self._sums, summed, strict=True)] if self._sums else list(summed)
        self.batches += 1

    def take(self) -> list[tf.Tensor]:
        """Return the sums, and begin anew."""
        taken, self._sums, self.batches = self._sums, [], 0
        return taken

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Return the number of batches, and their sums by position; empty without a batch."""
        if not self.batches:
            return {}
        return {"batches": np.array(self.batches, np.float32)} | {str(i): s.numpy() for i, s in enumerate(self._sums)}

    def restore(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over what `state` returned."""
        self.batches = int(state.get("batches", 0))
        self._sums = [tf.constant(state[str(i)]) for i in range(len(state) - 1)]


def check_sums(summed: Sequence[str], own: Sequence[str]) -> None:
    """Raise BadCheckpoint if batches wait for a step with other figures than `own`, of a step that takes them up."""
    if summed and list(summed) != list(own):
        raise BadCheckpoint(
            f"training: the checkpoint has batches that wait for the next step, with the figures {', '.join(summed)}; "
            f"expected {', '.join(own) or 'none, as truncated unrolling makes steps of chunks'}: go on as before to "
            "the end of an epoch, or train into another run folder"
        )
