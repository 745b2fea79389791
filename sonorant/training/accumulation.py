"""Gradient accumulation: sums over several batches, until there are enough of them for a step."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf

__all__ = ["Accumulation"]


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
