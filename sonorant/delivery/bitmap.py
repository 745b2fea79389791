"""A set of an epoch's examples, one bit each: 10⁸ of them take 12.5 MB."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import IntArray

__all__ = ["Bitmap"]


class Bitmap:
    """Which of the ordinals 0 to `total` - 1 are set; packed as Redis does, ordinal 0 in the highest bit of byte 0.

    packed: the bits so far; absent bytes are zero, as in Redis.
    """

    def __init__(self, total: int, packed: bytes = b"") -> None:
        self.total = total
        self._bytes = np.zeros((total + 7) // 8, dtype=np.uint8)
        self._bytes[: len(packed)] = np.frombuffer(packed, dtype=np.uint8)

    def flags(self) -> NDArray[np.bool_]:
        """Return Bool[total], which takes 8 times the memory."""
        return np.unpackbits(self._bytes, count=self.total).astype(bool)

    def packed(self) -> bytes:
        """Return the bits as bytes."""
        return self._bytes.tobytes()

    def has(self, ordinals: Sequence[int] | IntArray) -> NDArray[np.bool_]:
        """Return whether each ordinal is set."""
        at = np.asarray(ordinals, dtype=np.int64)
        found: NDArray[np.bool_] = (self._bytes[at >> 3] >> (7 - (at & 7)).astype(np.uint8) & 1).astype(bool)
        return found

    def add(self, ordinals: Sequence[int] | IntArray) -> None:
        """Set ordinals."""
        at = np.asarray(ordinals, dtype=np.int64)
        np.bitwise_or.at(self._bytes, at >> 3, (128 >> (at & 7)).astype(np.uint8))

    def count(self) -> int:
        """Return how many are set."""
        return int(np.bitwise_count(self._bytes).sum(dtype=np.int64))

    def inverted(self) -> "Bitmap":
        """Return the bitmap of those that are not set."""
        inverted = Bitmap(self.total, np.invert(self._bytes).tobytes())
        if self.total % 8:
            inverted._bytes[-1] &= 0xFF << (8 - self.total % 8) & 0xFF
        return inverted

    def __or__(self, other: "Bitmap") -> "Bitmap":
        return Bitmap(self.total, (self._bytes | other._bytes).tobytes())

    def __and__(self, other: "Bitmap") -> "Bitmap":
        return Bitmap(self.total, (self._bytes & other._bytes).tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bitmap) and self.total == other.total and self.packed() == other.packed()

    __hash__ = None  # type: ignore[assignment]  # it changes
