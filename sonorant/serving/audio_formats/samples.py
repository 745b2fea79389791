"""Decoded samples on their way to the model, and what makes them of bytes."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import BadAudio

__all__ = ["Block", "Frames", "Reader", "bad_audio"]

Frames: TypeAlias = NDArray[np.float32]  # [samples, channels], full scale ±1


class Block(NamedTuple):
    """Samples of all channels, and their rate; bounded: of integers, which are finite and within full scale."""

    frames: Frames
    rate_hz: int
    bounded: bool = False


class Reader(Protocol):
    """Makes samples of one format's bytes, lazily; what it yields does not depend on how the bytes are cut."""

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield what the next bytes complete; raises BadAudio."""
        ...

    def finish(self) -> Iterator[Block]:
        """Yield the rest; raises BadAudio if no audio has come. What is cut off later has samples up to there."""
        ...


def bad_audio(reason: str) -> BadAudio:
    """Return the error of a client's audio."""
    return BadAudio("audio", reason)
