"""Framing: how many encoded frames a family has for an utterance, and when a stream has each of them."""

from dataclasses import dataclass

import numpy as np

from sonorant.arrays import IntArray

__all__ = ["Framing"]


@dataclass(frozen=True, slots=True)
class Framing:
    """Frames of an utterance of V vectors, followed by `tail` vectors of padding: one a block, without the first ones.

    Frame j is complete with vector (j + lead + 1) block - 1, and there are (V + tail) // block - lead of them.

    block: vectors from frame to frame. lead: blocks at the start of a stream that complete no frame, because the window
    of the first frame is longer or the output is delayed. tail: vectors of padding that end the last window.
    """

    block: int = 1
    lead: int = 0
    tail: int = 0

    def frames(self, vectors: int) -> int:
        """Return the number of frames of so many vectors."""
        return max(0, (vectors + self.tail) // self.block - self.lead)

    @property
    def wider(self) -> int:
        """Vectors of a frame's window beyond the first block of it; those of padding tell nothing of the time."""
        return max(0, self.lead * self.block - self.tail)

    def vectors(self, frames: int) -> IntArray:
        """Return Int64[frames]: the vector that each frame stands for, padding aside."""
        return (np.arange(frames) + self.lead + 1) * self.block - 1 - self.tail
