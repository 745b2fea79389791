"""A ledger's persistent state, and its bytes in a checkpoint."""

import json
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import Self

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.example import Lineage
from sonorant.errors import SonorantError

__all__ = ["BadSnapshot", "LedgerSnapshot", "Rejection"]

_MAGIC = b"SNRLEDG2"
_OLD_MAGIC = b"SNRLEDG1"  # has two bitmaps of every epoch
_HEADER = struct.Struct("<8sI")  # magic, CRC-32 of what follows
_LONGEST = 1000  # characters of a rejection's utterance or reason: a hundred of them fit into a message of gRPC


class BadSnapshot(SonorantError):
    """Bytes that are not the snapshot of a ledger for this corpus."""

    exit_code = 65


@dataclass(frozen=True, slots=True)
class Rejection:
    """An example that a stage could not process; `reason` is one sentence: what, found, expected."""

    lineage: Lineage
    utterance: str
    stage: str
    reason: str

    def shortened(self) -> Self:
        """Return the rejection with the first 1,000 characters of its utterance and its reason, which corpora bring."""
        return replace(self, utterance=_beginning(self.utterance), reason=_beginning(self.reason))

    def to_json(self) -> str:
        """Return the rejection as a line of JSON."""
        return json.dumps([*self.lineage, self.utterance, self.stage, self.reason], separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str | bytes) -> Self:
        """Return the rejection that `to_json` wrote."""
        epoch, shard, index, utterance, stage, reason = json.loads(line)
        return cls(Lineage(epoch, shard, index), utterance, stage, reason)


@dataclass
class LedgerSnapshot:
    """Committed and rejected examples of every epoch, and reasons by (epoch, ordinal).

    An epoch under way has a bitmap of each; one that is whole only its past: what was rejected, compressed.
    """

    total: int
    reasons: dict[tuple[int, int], Rejection] = field(default_factory=dict)
    _committed: dict[int, Bitmap] = field(default_factory=dict)
    _rejected: dict[int, Bitmap] = field(default_factory=dict)
    _past: dict[int, bytes] = field(default_factory=dict)

    def committed(self, epoch: int) -> Bitmap:
        """Return the committed examples, which the caller may change while the epoch is not past."""
        if epoch in self._past:
            return self.rejected(epoch).inverted()
        return self._committed.setdefault(epoch, Bitmap(self.total))

    def rejected(self, epoch: int) -> Bitmap:
        """Return the rejected examples, which the caller may change while the epoch is not past."""
        if epoch in self._past:
            return Bitmap(self.total, zlib.decompress(self._past[epoch]))
        return self._rejected.setdefault(epoch, Bitmap(self.total))

    def put(self, epoch: int, committed: Bitmap, rejected: Bitmap) -> None:
        """Set both of an epoch."""
        self._committed[epoch], self._rejected[epoch] = committed, rejected

    def put_past(self, epoch: int, past: bytes) -> None:
        """Set what `past` returned of an epoch."""
        self._past[epoch] = past

    def past(self, epoch: int) -> bytes | None:
        """Return the rejected examples of an epoch that is whole, compressed; None if it is not."""
        if epoch in self._past:
            return self._past[epoch]
        whole = self.committed(epoch) == (rejected := self.rejected(epoch)).inverted()
        return zlib.compress(rejected.packed()) if whole else None

    def epochs(self) -> list[int]:
        """Return the epochs in the snapshot, ascending."""
        return sorted(self._committed.keys() | self._rejected.keys() | self._past.keys())

    def encode(self) -> bytes:
        """Return the snapshot as bytes; equal snapshots give equal bytes."""
        whole = {e: past for e in self.epochs() if (past := self.past(e)) is not None}
        rest = [e for e in self.epochs() if e not in whole]
        rest = [e for e in rest if self.committed(e).count() or self.rejected(e).count()]
        reasons = [[e, o, self.reasons[e, o].to_json()] for e, o in sorted(self.reasons)]
        lengths = [[e, len(past)] for e, past in whole.items()]
        head = json.dumps({"total": self.total, "epochs": rest, "past": lengths, "reasons": reasons}).encode()
        bitmaps = b"".join(bitmap(e).packed() for e in rest for bitmap in (self.committed, self.rejected))
        body = zlib.compress(struct.pack("<I", len(head)) + head + bitmaps + b"".join(whole.values()))
        return _HEADER.pack(_MAGIC, zlib.crc32(body)) + body

    @classmethod
    def decode(cls, data: bytes, total: int) -> Self:
        """Return what `encode` wrote, or wrote before epochs had a past.

        Raises BadSnapshot if it is damaged or belongs to a corpus of another size.
        """
        if len(data) < _HEADER.size or data[:8] not in (_MAGIC, _OLD_MAGIC):
            raise BadSnapshot(f"ledger snapshot starts with {data[:8]!r}, expected {_MAGIC!r}: use another checkpoint")
        body = data[_HEADER.size :]
        if zlib.crc32(body) != _HEADER.unpack_from(data)[1]:
            raise BadSnapshot("ledger snapshot is damaged (its CRC differs): use another checkpoint")
        plain = zlib.decompress(body)
        (length,) = struct.unpack_from("<I", plain)
        head = json.loads(plain[4 : 4 + length])
        if head["total"] != total:
            raise BadSnapshot(
                f"ledger snapshot of {head['total']} examples, but the shards hold {total}: "
                "the corpus was prepared again, so training must start in a new run folder"
            )
        snapshot = cls(total, {(e, o): Rejection.from_json(line) for e, o, line in head["reasons"]})
        at, size = 4 + length, (total + 7) // 8
        for epoch in head["epochs"]:
            committed, rejected = plain[at : at + size], plain[at + size : at + 2 * size]
            snapshot.put(epoch, Bitmap(total, committed), Bitmap(total, rejected))
            at += 2 * size
        for epoch, length in head.get("past", ()):
            snapshot.put_past(epoch, plain[at : at + length])
            at += length
        return snapshot


def _beginning(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
