"""Byte offsets of a shard's records; stored beside the shard, and rebuilt when that file is missing or stale.

File format, little endian: 8 bytes magic, uint64 size of the shard, uint64 number of records, then for each record
uint64 offset and uint64 length (framing included), and a uint32 CRC-32C of all that.
"""

import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import google_crc32c
import numpy as np

from sonorant.arrays import IntArray
from sonorant.atomic import atomic_write
from sonorant.corpus.tfrecord import FOOTER_BYTES, HEADER_BYTES, header_length
from sonorant.errors import Unavailable

__all__ = ["ShardIndex", "index_path", "load_index", "scan_shard", "write_index"]

_MAGIC = b"snrindx1"
_HEADER = struct.Struct("<8sQQ")
_CRC_BYTES = 4
_SEARCH_BYTES = 1 << 20


@dataclass(frozen=True)
class ShardIndex:
    """Records of one shard: `offsets` and `lengths` are Int64[records], in bytes, framing included."""

    shard_bytes: int
    offsets: IntArray
    lengths: IntArray

    def __len__(self) -> int:
        return len(self.offsets)


def index_path(shard: Path) -> Path:
    """Return where the index of `shard` is kept."""
    return shard.with_name(shard.name + ".index")


def write_index(shard: Path, index: ShardIndex) -> None:
    """Write the index beside its shard; raises Unavailable when the disk refuses."""
    body = _HEADER.pack(_MAGIC, index.shard_bytes, len(index))
    body += np.stack([index.offsets, index.lengths], axis=1).astype("<u8").tobytes()
    atomic_write(index_path(shard), body + struct.pack("<I", google_crc32c.value(body)))


def load_index(shard: Path, alone: bool = False) -> ShardIndex:
    """Return the index of `shard`; one that is missing, damaged or of another shard is rebuilt by scanning.

    alone: a sound index is enough, its shard may be elsewhere. Raises Unavailable when the shard cannot be read now.
    """
    index = _read_index(index_path(shard))
    try:
        size = os.stat(shard).st_size
    except OSError as error:
        if alone and index is not None:
            return index
        raise _unreadable(shard, error) from error
    if index is None or index.shard_bytes != size:
        try:
            index = scan_shard(shard)
        except OSError as error:
            raise _unreadable(shard, error) from error
        with suppress(Unavailable):  # a volume that only reads costs a scan at each start, no more
            write_index(shard, index)
    return index


def _unreadable(shard: Path, error: OSError) -> Unavailable:
    return Unavailable(
        f"{shard}: {error.strerror}; is its volume mounted and sound? If it is lost, run `sonorant prepare` again"
    )


def _read_index(path: Path) -> ShardIndex | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body, crc = content[:-_CRC_BYTES], content[-_CRC_BYTES:]
    if len(body) < _HEADER.size or crc != struct.pack("<I", google_crc32c.value(body)):
        return None
    magic, size, count = _HEADER.unpack_from(body)
    table = np.frombuffer(body, "<u8", offset=_HEADER.size)
    if magic != _MAGIC or len(table) != 2 * count:
        return None
    columns = table.reshape(count, 2).astype(np.int64)
    return ShardIndex(size, columns[:, 0].copy(), columns[:, 1].copy())


def scan_shard(shard: Path) -> ShardIndex:
    """Find the records by walking from header to header.

    Bytes that start with a damaged header count as one record, up to the next header whose CRC is right; reading it
    raises an error. So a single flipped byte never hides the records behind it.
    """
    found: list[tuple[int, int]] = []
    with open(shard, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        offset = 0
        while offset < size:
            file.seek(offset)
            length = header_length(file.read(HEADER_BYTES))
            end = size + 1 if length is None else offset + HEADER_BYTES + length + FOOTER_BYTES
            if end > size:
                end = _next_header(file, offset + 1, size)
            found.append((offset, end - offset))
            offset = end
    table = np.array(found, np.int64).reshape(-1, 2)
    return ShardIndex(size, table[:, 0].copy(), table[:, 1].copy())


def _next_header(file: BinaryIO, start: int, size: int) -> int:
    """Return the position of the first sound header from `start` on; `size` if there is none."""
    while start < size:
        file.seek(start)
        content = file.read(_SEARCH_BYTES + HEADER_BYTES - 1)
        for i in range(len(content) - HEADER_BYTES + 1):
            length = header_length(content[i : i + HEADER_BYTES])
            if length is not None and start + i + HEADER_BYTES + length + FOOTER_BYTES <= size:
                return start + i
        start += _SEARCH_BYTES
    return size
