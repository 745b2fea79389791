"""The header of a FLAC frame (RFC 9639, section 9.1)."""

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["LONGEST_HEADER", "MARK_BYTES", "SYNC_BYTES", "FrameHeader", "coded", "marks", "read_header"]

SYNC_BYTES = (b"\xff\xf8", b"\xff\xf9")
"""What a frame begins with: of a stream of fixed, or of variable block size."""
LONGEST_HEADER = 16
MARK_BYTES = 4
"""Of a header before its number."""
_POLYNOMIAL = 0x07


class FrameHeader(NamedTuple):
    """A header whose checksum is right.

    number: the frame's, or where block sizes vary the one of its first sample. kind: what all frames of a stream have
    in common: strategy of block sizes, code of the rate, code of the bits of a sample.
    """

    number: int
    samples: int
    kind: tuple[int, int, int]

    @property
    def next_number(self) -> int:
        """The number of the frame after this one."""
        return self.number + (self.samples if self.kind[0] else 1)

    def follows(self, before: "FrameHeader") -> bool:
        """Return whether this is the frame after `before`."""
        return self.kind == before.kind and self.number == before.next_number


def read_header(data: bytes) -> FrameHeader | None:
    """Return the header that `data` begins with; None if it begins with none, or with a part of one."""
    if len(data) < 6 or data[:2] not in SYNC_BYTES or data[3] & 1:
        return None
    digits = 8 - (data[4] ^ 0xFF).bit_length()  # as of UTF-8: bytes of the number, 0 for one
    at = 4 + max(1, digits)
    size_code, rate_code = data[2] >> 4, data[2] & 0x0F
    size_bytes = {6: 1, 7: 2}.get(size_code, 0)
    end = at + size_bytes + {12: 1, 13: 2, 14: 2}.get(rate_code, 0)
    if digits in (1, 8) or not size_code or len(data) <= end or _checksum(data[:end]) != data[end]:
        return None
    number = data[4] & (0x7F >> digits)
    for byte in data[5:at]:
        number = number << 6 | byte & 0x3F
    samples = int.from_bytes(data[at : at + size_bytes], "big") + 1 if size_bytes else _samples(size_code)
    return FrameHeader(number, samples, (data[1] & 1, rate_code, data[3] >> 1 & 0x07))


@lru_cache
def marks(kind: tuple[int, int, int]) -> re.Pattern[bytes]:
    """Return what finds the four bytes before the number in headers of a kind."""
    variable, rate_code, bits_code = kind
    sizes = bytes(code << 4 | rate_code for code in range(1, 16))
    channels = bytes(code << 4 | bits_code << 1 for code in range(16))
    return re.compile(re.escape(SYNC_BYTES[variable]) + b"[%b][%b]" % (re.escape(sizes), re.escape(channels)))


def coded(number: int) -> bytes:
    """Return a number of up to 36 bits as headers have it, which is as UTF-8 goes on."""
    if number < 0x80:
        return bytes([number])
    more = next((more for more in range(1, 6) if number < 1 << 5 * more + 6), 6)
    first = 0xFF00 >> more + 1 & 0xFF | number >> 6 * more & 0x3F >> more
    return bytes([first, *(0x80 | number >> 6 * place & 0x3F for place in reversed(range(more)))])


def _samples(code: int) -> int:
    if code == 1:
        return 192
    return 576 << code - 2 if code < 6 else 256 << code - 8


def _checksum(data: bytes) -> int:
    checksum = 0
    for byte in data:
        checksum = _CHECKSUMS[checksum ^ byte]
    return checksum


def _shifted(byte: int) -> int:
    for _ in range(8):
        byte = (byte << 1) ^ (0x100 | _POLYNOMIAL if byte & 0x80 else 0)
    return byte


_CHECKSUMS = bytes(map(_shifted, range(256)))
