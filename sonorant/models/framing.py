"""Framing: how many encoded frames a family has for an utterance, and when a stream has each of them."""

from dataclasses import dataclass

import numpy as np

from sonorant.arrays import IntArray

__all__ = ["Framing"]


@dataclass(frozen=True, slots=True)
class Framing:
    """Frames of an utterance of V vectors, followed by `tail` vectors of padding: one a block, without the first ones.

    There are (V + tail) // block - lead of them. A stream takes steps of `at_once` blocks, whose frames come together:
    frame j with vector `vectors_for(j + 1)` - 1, so with `at_once` 1 with vector (j + lead + 1) block - 1.

    block: vectors from frame to frame. lead: blocks at the start of a stream that complete no frame, because the window
    of the first frame is longer or the output is delayed. tail: vectors of padding that end the last window; a stream
    has as many more as its last step lacks. at_once: blocks of a step.
    """

    block: int = 1
    lead: int = 0
    tail: int = 0
    at_once: int = 1

    @property
    def step(self) -> int:
        """Vectors that a stream takes at once."""
        return self.at_once * self.block

    @property
    def padded(self) -> bool:
        """Whether padding must follow some utterances for a stream to have all their frames."""
        return self.tail > 0 or self.at_once > 1

    def frames(self, vectors: int) -> int:
        """Return the number of frames of so many vectors."""
        return max(0, (vectors + self.tail) // self.block - self.lead)

    def vectors_for(self, frames: int) -> int:
        """Return the vectors of the steps that complete so many frames."""
        return -(-(frames + self.lead) // self.at_once) * self.step

    def padding_after(self, vectors: int) -> int:
        """Return the vectors of padding that must follow so many for a stream to have all their frames."""
        frames = self.frames(vectors)
        return max(0, self.vectors_for(frames) - vectors) if frames else 0

    @property
    def wider(self) -> int:
        """Vectors of a frame's window beyond the first block of it; those of padding tell nothing of the time."""
        return max(0, self.lead * self.block - self.tail)

    def vectors(self, frames: int) -> IntArray:
        """Return Int64[frames]: the vector that each frame stands for, padding aside."""
        return (np.arange(frames) + self.lead + 1) * self.block - 1 - self.tail
