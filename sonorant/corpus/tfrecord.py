"""TFRecord framing, written by hand so that reading a shard does not need TensorFlow.

A record is, little endian: uint64 length, uint32 masked CRC of those eight bytes, the data, uint32 masked CRC of the
data. The CRC is CRC-32C, masked because a CRC over bytes that hold CRCs is weak (tensorflow/core/lib/hash/crc32c.h).
"""

import struct

import google_crc32c

__all__ = ["FOOTER_BYTES", "HEADER_BYTES", "frame", "header_length", "unframe"]

HEADER_BYTES = 12
FOOTER_BYTES = 4

_MASK_DELTA = 0xA282EAD8


def frame(data: bytes) -> bytes:
    """Return `data` as one TFRecord."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, _masked_crc(length), data, _masked_crc(data)))


def header_length(header: bytes) -> int | None:
    """Return the length of the data that follows `header`, or None if its CRC does not match."""
    if len(header) != HEADER_BYTES or header[8:] != _masked_crc(header[:8]):
        return None
    length: int = struct.unpack("<Q", header[:8])[0]
    return length


def unframe(record: bytes) -> bytes:
    """Return the data of one whole TFRecord; raises ValueError with the part that is damaged."""
    length = header_length(record[:HEADER_BYTES])
    if length is None:
        raise ValueError("the CRC of its length does not match")
    if len(record) != HEADER_BYTES + length + FOOTER_BYTES:
        raise ValueError(f"it has {len(record)} bytes, and its header states {HEADER_BYTES + length + FOOTER_BYTES}")
    data = record[HEADER_BYTES:-FOOTER_BYTES]
    if record[-FOOTER_BYTES:] != _masked_crc(data):
        raise ValueError("the CRC of its data does not match")
    return data


def _masked_crc(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF)
