"""FLAC: metadata blocks, then frames (RFC 9639)."""

from collections.abc import Iterator

from sonorant.serving.audio_formats.byte_buffer import ByteBuffer
from sonorant.serving.audio_formats.flac_frames import FlacFrames
from sonorant.serving.audio_formats.samples import Block, bad_audio

__all__ = ["FlacReader"]

_STREAMINFO = 0
_SETUP_BYTES = 34


class FlacReader:
    """Reads a FLAC file as it comes."""

    def __init__(self) -> None:
        self._buffer = ByteBuffer()
        self._begun = False
        self._frames: FlacFrames | None = None
        self._last = False  # the last block of metadata has come

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield the samples of frames that are complete; raises BadAudio where one is damaged or missing."""
        self._buffer.push(data)
        while not self._last and self._metadata():
            pass
        if self._last and self._frames is not None:
            yield from self._frames.read()

    def finish(self) -> Iterator[Block]:
        """Yield the samples of the last frame, if it is whole; raises BadAudio if it is damaged."""
        if self._frames is None or not self._last or self._buffer.skipping:
            raise bad_audio("FLAC: cut off in its header")
        yield from self._frames.finish()

    def _metadata(self) -> bool:
        """Read one block's header; return whether another may be read now."""
        if not self._begun:
            if (magic := self._buffer.take(4, 4, "FLAC marker")) is None:
                return False
            if magic != b"fLaC":
                raise bad_audio(f"begins with {magic!r}: a FLAC file has fLaC there")
            self._begun = True
        head = self._buffer.peek(4)
        if head is None or self._buffer.skipping:
            return False
        kind, size = head[0] & 0x7F, int.from_bytes(head[1:], "big")
        if self._frames is None:
            if kind != _STREAMINFO or size != _SETUP_BYTES:
                raise bad_audio(f"FLAC: a first block of type {kind}, {size} bytes: expected STREAMINFO, of 34")
            if (block := self._buffer.take(4 + size, 4 + size, "STREAMINFO")) is None:
                return False
            self._frames = FlacFrames(self._buffer, block[4:])
        else:
            self._buffer.skip(4 + size)
        self._last = bool(head[0] & 0x80)
        return not self._last
