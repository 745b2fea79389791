"""The frames of a FLAC stream (RFC 9639, section 9).

Frames are numbered, and have checksums but no lengths: one ends where the header of the next one begins. So nothing is
lost unseen: a frame that is missing or damaged leaves a wrong checksum, or bytes in which the next one does not begin.
At the end, a frame that cannot be decoded is cut off, unless something shows that it is whole. What stands behind the
last one is no audio: tags, padding.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sonorant.errors import BadAudio
from sonorant.serving.audio_formats.byte_buffer import ByteBuffer
from sonorant.serving.audio_formats.codec import Codec
from sonorant.serving.audio_formats.flac_header import (
    LONGEST_HEADER,
    MARK_BYTES,
    SYNC_BYTES,
    FrameHeader,
    coded,
    marks,
    read_header,
)
from sonorant.serving.audio_formats.samples import Block, bad_audio
from sonorant.serving.audio_formats.tags import without_tags

__all__ = ["FlacFrames"]

_MOST_BYTES_A_SAMPLE = 5  # of a channel: more than those of 32 bits
_MOST_ADDED = 1024  # bytes of a frame


class _StreamInfo(NamedTuple):
    """What STREAMINFO says (section 8.2): 0: unknown."""

    least_frame: int
    longest_frame: int
    rate_hz: int
    channels: int
    total: int


def _stream_info(setup: bytes) -> _StreamInfo:
    packed = int.from_bytes(setup[10:18], "big")
    least, longest = int.from_bytes(setup[4:7], "big"), int.from_bytes(setup[7:10], "big")
    return _StreamInfo(least, longest, packed >> 44, (packed >> 41 & 0x07) + 1, packed & (1 << 36) - 1)


class FlacFrames:
    """Reads the frames that begin where `buffer` does."""

    def __init__(self, buffer: ByteBuffer, setup: bytes) -> None:
        self._buffer = buffer
        self._setup = setup
        self._info = _stream_info(setup)
        self._codec = Codec("flac", "FLAC", setup)
        self._header: FrameHeader | None = None  # of the frame at the beginning of the buffer
        self._searched = 0  # bytes of the buffer in which the next frame does not begin
        self._samples = 0  # that are decoded
        self._ended = False  # what is to come stands behind the last frame

    def read(self) -> Iterator[Block]:
        """Yield the samples of frames behind which the next one has begun."""
        while not self._ended and (size := self._size()) is not None:
            frame = self._buffer.take(size, size, "frame") or b""
            blocks = self._blocks(frame)
            self._header, self._searched = None, 0
            if len(blocks) != 1 and not (blocks and self._ended):
                raise self._damaged("a frame whose checksum is wrong")
            self._samples += len(blocks[0].frames)
            yield blocks[0]
        if self._ended:
            self._buffer.skip(len(self._buffer))

    def finish(self) -> Iterator[Block]:
        """Yield the samples of the last frame, behind which a header may be cut off."""
        rest = self._buffer.take(len(self._buffer), len(self._buffer), "frame") or b""
        if self._header is not None:
            rest = rest if self._info.total else without_tags(rest)
            blocks = self._blocks(rest)
            if not blocks and self._is_whole(rest, self._header):
                raise self._damaged("a last frame whose checksum is wrong")
            if not blocks:
                return
            yield blocks[0]
            self._samples += len(blocks[0].frames)
            rest = b"" if 0 < self._info.total <= self._samples else self._behind(rest)
        if rest and not self._may_be_header(rest):
            raise self._damaged("no frame begins there")

    def _size(self) -> int | None:
        """Return the bytes of the first frame in the buffer; None as long as the next one has not begun.

        If it is the last one, and no frame is so long, those bytes have some behind it.
        """
        if self._header is None:
            self._header = read_header(self._buffer.peek_up_to(LONGEST_HEADER))
            if self._header is None:
                if len(self._buffer) >= LONGEST_HEADER:
                    raise self._damaged("no frame begins there")
                return None
        most = self._header.samples * self._info.channels * _MOST_BYTES_A_SAMPLE + _MOST_ADDED
        at = max(self._searched, 1)
        pattern, number = marks(self._header.kind), coded(self._header.next_number)
        while (at := self._buffer.search(pattern, at, most)) >= 0:
            header = self._buffer.peek_up_to(LONGEST_HEADER, at)
            if header.startswith(number, MARK_BYTES):
                after = read_header(header)
                if after is not None and after.follows(self._header):
                    return at
            if len(header) < LONGEST_HEADER:
                self._searched = at
                return None
            at += 1
        self._searched = max(1, len(self._buffer) - MARK_BYTES + 1)
        if len(self._buffer) < most:
            return None
        if not self._is_last(self._header):
            self._samples += self._header.samples
            raise self._damaged("no frame begins there")
        self._ended = True
        return most

    def _is_last(self, header: FrameHeader) -> bool:
        """Return whether a frame is the last one by STREAMINFO's total."""
        return 0 < self._info.total <= self._samples + header.samples

    def _blocks(self, data: bytes, codec: Codec | None = None) -> list[Block]:
        """Return the samples of the frames that these bytes begin with."""
        try:
            return list((codec or self._codec).decode(data))
        except BadAudio:
            return []

    def _behind(self, rest: bytes) -> bytes:
        """Return the bytes behind the frame that `rest` begins with, or the last ones of many."""
        size = len(rest)
        while size > len(rest) - LONGEST_HEADER and self._blocks(rest[: size - 1]):
            size -= 1
        return rest[size:]

    def _may_be_header(self, rest: bytes) -> bool:
        """Return whether bytes may be of a frame that is cut off in its header."""
        shorter = len(rest) < min(LONGEST_HEADER, self._info.least_frame or LONGEST_HEADER)
        return shorter and any(sync.startswith(rest[:2]) for sync in SYNC_BYTES)

    def _is_whole(self, frame: bytes, header: FrameHeader) -> bool:
        """Return whether a frame that cannot be decoded, at the end of the file, is not just cut off.

        It is if all its samples are there but for a wrong checksum, or more than them. For a damage its samples may
        take more bytes; if it is the last one by STREAMINFO's total, it is whole then if it is as long as the longest
        frame, or just as long as the shortest, which last ones often are.
        """
        if self._is_last(header) and len(frame) in (self._info.least_frame, self._info.longest_frame):
            return True
        return bool(self._blocks(frame, Codec("flac", "FLAC", self._setup, checked=False)))

    def _damaged(self, what: str) -> BadAudio:
        seconds = self._samples / self._info.rate_hz if self._info.rate_hz else 0.0
        return bad_audio(f"FLAC: damaged at {seconds:.2f} s: {what}")
