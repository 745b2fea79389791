"""Opus in WebM: elements of Matroska (RFC 9559) whose length may be unknown, as browsers record it."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonorant.serving.audio_formats.byte_buffer import ByteBuffer
from sonorant.serving.audio_formats.opus import OpusPackets
from sonorant.serving.audio_formats.samples import Block, bad_audio

__all__ = ["WebmOpusReader"]

_EBML, _SEGMENT, _CLUSTER, _TRACKS, _TRACK, _GROUP = 0x1A45DFA3, 0x18538067, 0x1F43B675, 0x1654AE6B, 0xAE, 0xA0
_NUMBER, _CODEC, _SETUP, _ENCODINGS, _SIMPLE_BLOCK, _BLOCK = 0xD7, 0x86, 0x63A2, 0x6D80, 0xA3, 0xA1
# Elements that are entered: what is in them is read as if it stood beside them.
_ENTERED = {_EBML, _SEGMENT, _CLUSTER, _TRACKS, _TRACK, _GROUP}
_READ = {_NUMBER, _CODEC, _SETUP, _ENCODINGS, _SIMPLE_BLOCK, _BLOCK}
_MOST_ELEMENT = 1 << 18
_MOST_TRACKS = 64
_LACING = 0x06


@dataclass(slots=True)
class _Track:
    number: int = 0
    codec: str = ""
    setup: bytes = b""
    encoded: bool = False


class WebmOpusReader:
    """Reads a WebM file as it comes: its first track of Opus."""

    def __init__(self) -> None:
        self._buffer = ByteBuffer()
        self._begun = False
        self._tracks: list[_Track] = []
        self._number = 0
        self._opus: OpusPackets | None = None

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield the samples of blocks that are complete."""
        self._buffer.push(data)
        while (element := self._element()) is not None:
            kind, content = element
            if kind == _CLUSTER and self._opus is None:
                self._open()
            elif kind in (_SIMPLE_BLOCK, _BLOCK):
                yield from self._block(content)
            else:
                self._describe(kind, content)

    def finish(self) -> Iterator[Block]:
        """Yield nothing: a block that is cut off is dropped. Raises BadAudio without a header."""
        if self._opus is None:
            raise bad_audio("WebM: cut off in its header")
        return iter(())

    def _element(self) -> tuple[int, bytes] | None:
        """Return the next element that matters, or None until it has come; contents of those entered are empty."""
        while not self._buffer.skipping:
            head = self._head()
            if head is None:
                return None
            kind, size, length = head
            if not self._begun:
                if kind != _EBML:
                    raise bad_audio(f"begins with element {kind:#x}: WebM has {_EBML:#x} there")
                self._begun = True
            if kind in _ENTERED:
                self._buffer.skip(length)
                return kind, b""
            if size is None:
                raise bad_audio(f"WebM: an element {kind:#x} of unknown length")
            if kind in _READ:
                element = self._buffer.take(length + size, _MOST_ELEMENT, f"WebM: an element {kind:#x}")
                return None if element is None else (kind, element[length:])
            self._buffer.skip(length + size)
        return None

    def _head(self) -> tuple[int, int | None, int] | None:
        """Return identifier and size of the next element (None: unknown), and the bytes of both."""
        if (first := self._buffer.peek(1)) is None:
            return None
        width = _width(first[0], 4)
        if (second := self._buffer.peek(1, width)) is None:
            return None
        size_width = _width(second[0], 8)
        if (head := self._buffer.peek(width + size_width)) is None:
            return None
        size = _number(head[width:])
        unknown = size == (1 << 7 * size_width) - 1
        return int.from_bytes(head[:width], "big"), None if unknown else size, width + size_width

    def _describe(self, kind: int, content: bytes) -> None:
        if kind == _TRACK:
            self._tracks.append(_Track())
            if len(self._tracks) > _MOST_TRACKS:
                raise bad_audio(f"WebM with more than {_MOST_TRACKS} tracks")
        elif self._tracks and kind == _NUMBER:
            self._tracks[-1].number = int.from_bytes(content[:8], "big")
        elif self._tracks and kind == _CODEC:
            self._tracks[-1].codec = content[:64].rstrip(b"\0").decode("ascii", "replace")
        elif self._tracks and kind == _SETUP:
            self._tracks[-1].setup = content
        elif self._tracks and kind == _ENCODINGS:
            self._tracks[-1].encoded = True

    def _open(self) -> None:
        track = next((track for track in self._tracks if track.codec == "A_OPUS"), None)
        if track is None:
            found = ", ".join(track.codec or "no codec" for track in self._tracks) or "none"
            raise bad_audio(f"WebM with these tracks: {found}; expected one of A_OPUS")
        if track.encoded:
            raise bad_audio("WebM whose track is compressed or encrypted: expected neither")
        self._number, self._opus = track.number, OpusPackets(track.setup)

    def _block(self, content: bytes) -> Iterator[Block]:
        if self._opus is None or not content:
            raise bad_audio("WebM: a block before its cluster, or an empty one")
        width = _width(content[0], 8)
        if len(content) < width + 3:
            raise bad_audio(f"WebM: a block of {len(content)} bytes, shorter than its header")
        if _number(content[:width]) != self._number:
            return
        if content[width + 2] & _LACING:
            raise bad_audio("WebM: a block with lacing, which Opus has no use for")
        yield from self._opus.decode(content[width + 3 :])


def _width(first: int, most: int) -> int:
    """Return the length of a number by its first byte: one more than the zeros that it begins with."""
    width = 9 - first.bit_length()
    if width > most:
        raise bad_audio(f"WebM: a byte {first:#04x} where an element begins: damaged, or not WebM")
    return width


def _number(data: bytes) -> int:
    """Return a number without the mark of its length."""
    return int.from_bytes(data, "big") & (1 << 7 * len(data)) - 1
