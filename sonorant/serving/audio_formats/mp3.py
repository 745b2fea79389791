"""MP3: an ID3 tag, which is skipped, then frames.

The first frame may be no audio but an index of the others (Xing, Info; VBRI). With LAME's extension it says how many
samples the encoder has added at both ends, which are dropped as libavformat and mpg123 do.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sonorant.serving.audio_formats.byte_buffer import ByteBuffer
from sonorant.serving.audio_formats.codec import Codec
from sonorant.serving.audio_formats.samples import Block

if TYPE_CHECKING:
    import av

__all__ = ["Mp3Reader"]

_TAG_BYTES = 10
_INDEX_WITHIN = 64  # bytes of a frame in which the marker of an index, which is no audio, stands
_FIELDS = ((1, 4), (2, 4), (4, 100), (8, 4))  # flag and bytes of each that may be there; the first: frames
_DELAYS_AT = 21  # in LAME's extension
_DECODER_DELAY = 529  # samples, of any MP3 decoder


class _Index(NamedTuple):
    """What an index says: frames of audio, 0: not said; samples before the audio, and behind it up to their end."""

    frames: int = 0
    before: int = 0
    behind: int = 0


class Mp3Reader:
    """Reads an MP3 file as it comes."""

    def __init__(self) -> None:
        self._buffer = ByteBuffer()
        self._codec = Codec("mp3float", "MP3")
        self._tagged = False  # what may be a tag has been looked at
        self._first = True
        self._index = _Index()
        self._samples = 0  # that are decoded

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
            yield from self._decode(packet)

    def finish(self) -> Iterator[Block]:
        """Yield the samples of the last frames."""
        rest = self._buffer.take(len(self._buffer), len(self._buffer), "frames")
        for packet in self._codec.parse(rest or b""):
            yield from self._decode(packet)
        yield from self._codec.finish(self._decode)

    def _decode(self, packet: "av.Packet[Any] | None") -> Iterator[Block]:
        if packet is not None and self._first:
            self._first = False
            frame = bytes(packet)
            at = max(frame[:_INDEX_WITHIN].find(marker) for marker in (b"Xing", b"Info", b"VBRI"))
            if at >= 0:
                self._index = _read_index(frame[at:])
                return
        yield from map(self._trimmed, self._codec.decode(packet))

    def _trimmed(self, block: Block) -> Block:
        at, size = self._samples, len(block.frames)
        self._samples += size
        end = self._index.frames * size  # frames that come behind it, against the index, are audio
        start = self._index.before - at
        stop = end - self._index.behind - at if at < end else size
        return block._replace(frames=block.frames[max(0, start) : max(0, stop)])


def _read_index(index: bytes) -> _Index:
    """Return what an index says that begins with its marker; nothing of one without LAME's extension."""
    flags = int.from_bytes(index[4:8], "big")
    extension = index[8 + sum(size for flag, size in _FIELDS if flags & flag) :]
    delays = extension[_DELAYS_AT : _DELAYS_AT + 3]
    if index.startswith(b"VBRI") or len(delays) < 3 or not extension[:4].isalpha():
        return _Index()
    before, behind = divmod(int.from_bytes(delays, "big"), 1 << 12)
    frames = int.from_bytes(index[8:12], "big") if flags & 1 else 0
    return _Index(frames, before + _DECODER_DELAY, behind - _DECODER_DELAY)
