"""Shards of one split: written once, read in any order."""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np

from sonorant.atomic import atomic_file
from sonorant.corpus.index import ShardIndex, load_index, write_index
from sonorant.corpus.record import Record
from sonorant.corpus.tfrecord import frame, unframe
from sonorant.errors import BadShard, Unavailable

__all__ = ["SPLITS", "ReadElsewhere", "ShardSet", "not_here", "shard_name", "write_shard"]

SPLITS = ("train", "dev", "test", "unseen_speaker")

ReadElsewhere: TypeAlias = Callable[[Path, int, int], bytes]
"""Returns the bytes of a shard that is not here: its path if it were, offset, length."""

_NAME = re.compile(r"(?P<split>[a-z_]+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.tfrecord")


def not_here(shard: Path, _offset: int, _length: int) -> bytes:
    """Read nothing: for a set of which some shards' indexes will do, as `sonorant pull` leaves it."""
    raise Unavailable(f"{shard}: only the shard's index is here")


def shard_name(split: str, number: int, count: int) -> str:
    """Return the file name of shard `number` (from 0) of `count`."""
    return f"{split}-{number:05d}-of-{count:05d}.tfrecord"


def write_shard(path: Path, records: Iterable[Record]) -> ShardIndex:
    """Write records and index, each whole or not at all; raises Unavailable when the disk refuses."""
    lengths: list[int] = []
    with atomic_file(path) as file:
        for record in records:
            framed = frame(record.to_bytes())
            file.write(framed)
            lengths.append(len(framed))
    sizes = np.array(lengths, np.int64)
    ends = np.cumsum(sizes)
    index = ShardIndex(int(sizes.sum()), ends - sizes, sizes)
    write_index(path, index)
    return index


@dataclass(frozen=True)
class ShardSet:
    """All records of one split. Reading needs no lock: several threads and processes may share a set.

    counts: records per shard. An ordinal numbers the records of all shards from 0, shard after shard.
    """

    paths: tuple[Path, ...]
    counts: tuple[int, ...]
    _indexes: tuple[ShardIndex, ...] = field(repr=False)
    _ends: tuple[int, ...] = field(repr=False)
    _elsewhere: ReadElsewhere | None = field(default=None, repr=False)

    @classmethod
    def open(cls, folder: Path, split: str, elsewhere: ReadElsewhere | None = None) -> Self:
        """Open the shards of `split`; raises BadShard when there are none, Unavailable when some are not there now.

        elsewhere: reads from shards of which `folder` has only the index, as long as that is so.
        """
        found: dict[int, Path] = {}
        expected: set[int] = set()
        names = {path.name for path in folder.glob(f"{split}-*.tfrecord")}
        if elsewhere is not None:
            names |= {path.stem for path in folder.glob(f"{split}-*.tfrecord.index")}
        for path in (folder / name for name in sorted(names)):
            if (match := _NAME.fullmatch(path.name)) and match["split"] == split:
                found[int(match["number"])] = path
                expected.add(int(match["count"]))
        if not found:
            advice = "run `sonorant prepare` first"
            if (folder / "card.json").exists():
                advice = "see corpus.splits, and the splits of evaluation.sets"
            raise BadShard(f"{folder}: no shards of split {split!r}; {advice}")
        if len(expected) > 1:
            raise BadShard(f"{folder}: split {split!r} has shards of two corpora; run `sonorant prepare` again")
        if missing := set(range(min(expected))) - set(found):
            name = shard_name(split, min(missing), min(expected))
            raise Unavailable(
                f"{folder / name}: not there, so {len(found)} shards of split {split!r} are incomplete; is the folder "
                "mounted whole? If they are lost, run `sonorant prepare` again"
            )
        paths = tuple(found[number] for number in sorted(found))
        indexes = tuple(load_index(path, alone=elsewhere is not None) for path in paths)
        counts = tuple(len(index) for index in indexes)
        return cls(paths, counts, indexes, tuple(accumulate(counts)), elsewhere)

    @property
    def total(self) -> int:
        """Number of records in all shards."""
        return self._ends[-1]

    def __len__(self) -> int:
        return self.total

    def locate(self, ordinal: int) -> tuple[int, int]:
        """Return (shard, index) of the record with this ordinal; raises IndexError outside [0, total)."""
        if not 0 <= ordinal < self.total:
            raise IndexError(f"ordinal {ordinal} of {self.total} records")
        shard = bisect_right(self._ends, ordinal)
        return shard, ordinal - (self._ends[shard] - self.counts[shard])

    def read(self, shard: int, index: int) -> Record:
        """Return one record; raises BadShard, naming shard and record, when its bytes are damaged or end too early.

        Raises Unavailable when it cannot be read now: the shard is away, or the machine fails. The record may be sound.
        """
        path, table = self.paths[shard], self._indexes[shard]
        if not 0 <= index < len(table):
            raise IndexError(f"{path.name} has {len(table)} records, so none with index {index}")
        try:
            framed = self._bytes_at(path, int(table.offsets[index]), int(table.lengths[index]))
            return Record.from_bytes(unframe(framed))
        except OSError as error:
            raise Unavailable(
                f"{path}: record {index} cannot be read: {error.strerror}; is its volume mounted and sound?"
            ) from error
        except (ValueError, BadShard) as error:
            raise BadShard(f"{path}: record {index} is damaged: {error}; remove the file, and prepare again") from error

    def __iter__(self) -> Iterator[Record]:
        """Yield all records in order of ordinals."""
        for shard, count in enumerate(self.counts):
            for index in range(count):
                yield self.read(shard, index)

    def _bytes_at(self, path: Path, offset: int, length: int) -> bytes:
        # Opened for each record: a corpus has more shards than a process may hold open, and the page cache is warm.
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            if self._elsewhere is None:
                raise
            return self._elsewhere(path, offset, length)
        try:
            return os.pread(descriptor, length, offset)
        finally:
            os.close(descriptor)
