"""Opus in Ogg (RFC 3533, RFC 7845): pages with checksums, of one stream."""

import zlib
from collections.abc import Iterator

from sonorant.serving.audio_formats.byte_buffer import ByteBuffer
from sonorant.serving.audio_formats.opus import OpusPackets
from sonorant.serving.audio_formats.samples import Block, bad_audio

__all__ = ["OggOpusReader", "page_checksum"]

_MARKER = b"OggS\0"  # begins a page; 0: the version
_HEAD_BYTES = 27
_CONTINUED, _LAST = 1, 4
_HEADERS = 2  # packets: identification, comments
_NO_PACKET_ENDS = (1 << 64) - 1  # in a page, whose position this is then
_MOST_PACKET = 1 << 20  # of comments; audio has 61 KB at most
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def page_checksum(page: bytes) -> int:
    """Return the checksum of a page whose own checksum is zero.

    It is zlib's CRC-32 with bits in the other order, and without its inversions.
    """
    reflected = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)


class OggOpusReader:
    """Reads an Ogg file as it comes."""

    def __init__(self) -> None:
        self._buffer = ByteBuffer()
        self._serial: int | None = None
        self._opus: OpusPackets | None = None
        self._begin: int | None = None  # position of the first sample: above 0 if others came before it (section 4.3)
        self._packets = 0
        self._partial = bytearray()
        self._page_number = 0  # of the last page

    def push(self, data: bytes) -> Iterator[Block]:
        """Yield the samples of packets whose page is complete."""
        self._buffer.push(data)
        while (page := self._page()) is not None:
            yield from self._read(page)

    def finish(self) -> Iterator[Block]:
        """Yield nothing: a page that is cut off has no checksum, and is dropped.

        Raises BadAudio without a header, and where others begin within that page: its length is damaged.
        """
        if self._opus is None:
            raise bad_audio("Ogg: cut off in its header")
        if self._buffer.find(_MARKER, 1) >= 0:
            raise bad_audio("Ogg: a page that is longer than the file: damaged")
        return iter(())

    def _page(self) -> bytes | None:
        head = self._buffer.peek(_HEAD_BYTES)
        if head is None:
            return None
        if head[:5] != _MARKER:
            raise bad_audio(f"{head[:5]!r} where a page of Ogg begins with OggS and 0: damaged, or not Ogg")
        lengths = self._buffer.peek(head[26], _HEAD_BYTES)
        if lengths is None:
            return None
        size = _HEAD_BYTES + len(lengths) + sum(lengths)
        page = self._buffer.take(size, size, "page")
        if page is None:
            return None
        if page_checksum(page[:22] + bytes(4) + page[26:]) != int.from_bytes(page[22:26], "little"):
            raise bad_audio("Ogg: a page whose checksum is wrong: damaged")
        return page

    def _read(self, page: bytes) -> Iterator[Block]:
        serial = int.from_bytes(page[14:18], "little")
        if self._serial is None:
            self._serial = serial
        if serial != self._serial:
            raise bad_audio("Ogg with more than one stream: expected one, of Opus")
        self._check_number(int.from_bytes(page[18:22], "little"))
        blocks = (block for packet in self._packets_of(page) for block in self._decode(packet))
        end = int.from_bytes(page[6:14], "little")
        if page[5] & _LAST:
            yield from self._trimmed(list(blocks), end)
            return
        yield from blocks
        if self._begin is None and self._packets > _HEADERS and self._opus is not None and end != _NO_PACKET_ENDS:
            self._begin = max(0, end - self._opus.samples)

    def _check_number(self, number: int) -> None:
        """Raise BadAudio if pages are missing; before those of audio they may be, where a client came later."""
        if self._packets > _HEADERS and number != (self._page_number + 1) % (1 << 32):
            raise bad_audio(f"Ogg: page {number} after page {self._page_number}: some are missing")
        self._page_number = number

    def _trimmed(self, blocks: list[Block], end: int) -> Iterator[Block]:
        """Yield the last page's blocks up to the `end` of the audio: packets may go on behind it (section 4.4)."""
        decoded = (self._begin or 0) + (self._opus.samples if self._opus is not None else 0)
        left = sum(len(block.frames) for block in blocks) - max(0, decoded - end)
        for block in blocks:
            yield block._replace(frames=block.frames[: max(0, left)])
            left -= len(block.frames)

    def _packets_of(self, page: bytes) -> Iterator[bytes]:
        if not page[5] & _CONTINUED:
            self._partial = bytearray()
        at = _HEAD_BYTES + page[26]
        for length in page[_HEAD_BYTES : _HEAD_BYTES + page[26]]:
            self._partial += page[at : at + length]
            at += length
            if len(self._partial) > _MOST_PACKET:
                raise bad_audio(f"Ogg: a packet of more than {_MOST_PACKET} bytes")
            if length < 255:
                packet, self._partial = bytes(self._partial), bytearray()
                yield packet

    def _decode(self, packet: bytes) -> Iterator[Block]:
        self._packets += 1
        if self._opus is None:
            self._opus = OpusPackets(packet)
        elif self._packets > _HEADERS:
            yield from self._opus.decode(packet)
