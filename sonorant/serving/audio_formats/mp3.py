"""MP3: an ID3 tag, which is skipped, then frames."""

from collections.abc import Iterator

from sonorant.serving.audio_formats.byte_buffer import ByteBuffer
from sonorant.serving.audio_formats.codec import Codec
from sonorant.serving.audio_formats.samples import Block

__all__ = ["Mp3Reader"]

_TAG_BYTES = 10
_INDEX_WITHIN = 64  # bytes of a frame in which the marker of an index, which is no audio, stands
_ALL_FIELDS = b"\0\0\0\x0f"
_DECODER_DELAY = 529  # of any MP3 decoder


class Mp3Reader:
    """Reads an MP3 file as it comes."""

    def __init__(self) -> None:
        self._buffer = ByteBuffer()
        self._codec = Codec("mp3float", "MP3")
        self._tagged = False  # what may be a tag has been looked at
        self._first = True
        self._skip = 0

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield the samples of frames that are complete."""
        self._buffer.push(data)
        if not self._tagged:
            head = self._buffer.peek(_TAG_BYTES)
            if head is None:
                return
            self._tagged = True
            if head[:3] == b"ID3":
                size = sum((byte & 0x7F) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True))
                self._buffer.skip(_TAG_BYTES + size)
        rest = self._buffer.take(len(self._buffer), len(self._buffer), "frames")
        for packet in self._codec.parse(rest or b""):
            yield from self._decode(bytes(packet))

    def finish(self) -> Iterator[Block]:
        """Yield the samples of the last frames."""
        rest = self._buffer.take(len(self._buffer), len(self._buffer), "frames")
        for packet in self._codec.parse(rest or b""):
            yield from self._decode(bytes(packet))
        yield from self._codec.finish()

    def _decode(self, packet: bytes) -> Iterator[Block]:
        if self._first:
            self._first = False
            at = max(packet[:_INDEX_WITHIN].find(marker) for marker in (b"Xing", b"Info", b"VBRI"))
            if at >= 0:
                self._skip = _delay(packet[at:])
                return
        for block in self._codec.decode(packet):
            skipped = min(self._skip, len(block.frames))
            self._skip -= skipped
            yield Block(block.frames[skipped:], block.rate_hz)


def _delay(index: bytes) -> int:
    """Return how many samples come before the audio, by an index with LAME's extension; 0 without."""
    if len(index) < 144 or index[4:8] != _ALL_FIELDS or not index[120:124].isalpha():
        return 0
    return (int.from_bytes(index[141:144], "big") >> 12) + _DECODER_DELAY
