"""A decoder's samples from a later one on, for a channel that goes on later than the others of its stream."""

from collections.abc import Iterable, Iterator

from sonorant.arrays import Waveform
from sonorant.serving.channels import Decoder

__all__ = ["LaterDecoder"]


class LaterDecoder:
    """`Decoder` of another one's samples but the first `skipped`."""

    def __init__(self, decoder: Decoder, skipped: int) -> None:
        self._decoder = decoder
        self._left = skipped

    def pieces(self, data: bytes) -> Iterator[Waveform]:
        """See `Decoder`."""
        return self._later(self._decoder.pieces(data))

    def last_pieces(self) -> Iterator[Waveform]:
        """See `Decoder`."""
        return self._later(self._decoder.last_pieces())

    def _later(self, pieces: Iterable[Waveform]) -> Iterator[Waveform]:
        for samples in pieces:
            skipped = min(self._left, len(samples))
            self._left -= skipped
            if skipped < len(samples):
                yield samples[skipped:]
