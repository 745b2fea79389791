"""Decoded samples in pieces of bounded length: a long message takes turns with other streams."""

from collections.abc import Iterator

import numpy as np

from sonorant.arrays import Waveform
from sonorant.errors import SonorantError

__all__ = ["Pieces"]


class Pieces:
    """Samples of an iterator, at most `most` at once; none is decoded before it is asked for."""

    def __init__(self, samples: Iterator[Waveform], most: int) -> None:
        self._samples = samples
        self._most = most
        self._held: Waveform = np.zeros(0, np.float32)
        self._error: SonorantError | None = None

    def next(self) -> tuple[Waveform, bool]:
        """Return the next piece, empty if there is none, and whether there may be more.

        Raises errors of decoding, when all samples before them have been returned.
        """
        found = [self._held] if len(self._held) else []
        count = len(self._held)
        try:
            while count < self._most and self._error is None and (samples := next(self._samples, None)) is not None:
                found.append(samples)
                count += len(samples)
        except SonorantError as error:
            self._error = error
        if self._error is not None and not found:
            raise self._error
        joined = found[0] if len(found) == 1 else np.concatenate([self._held[:0], *found])
        self._held = joined[self._most :]
        return joined[: self._most], count >= self._most or self._error is not None
