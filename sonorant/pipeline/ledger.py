"""The ledger: which examples of an epoch are claimed, committed or rejected.

It is what makes an epoch exact. An example is named by its epoch and its ordinal, its position in the train shards
(records of earlier shards + index). Each is in one of four states, and only these moves exist:

    free ──claim──▶ claimed ──commit──▶ committed          free ──reject──▶ rejected

A second copy of an example, whoever made it, finds it no longer free and is refused. Every gang of trainers works
in a generation; `restore` begins one, and from then on the calls of older gangs raise `StaleGeneration`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sonorant.errors import SonorantError
from sonorant.pipeline.bitmap import Bitmap
from sonorant.pipeline.snapshot import LedgerSnapshot, Rejection

__all__ = [
    "REASONS_KEPT",
    "Ledger",
    "LedgerConflict",
    "LedgerProgress",
    "MemoryLedger",
    "Rejection",
    "StaleGeneration",
    "check_ordinals",
]

REASONS_KEPT = 1000  # rejections whose reasons are kept, the first ones; all are counted


class StaleGeneration(SonorantError):
    """Somebody else has taken over: a call came from a gang of trainers that is not the ledger's current one."""

    exit_code = 75

    def __init__(self, found: int, current: int) -> None:
        super().__init__(
            f"generation {found}: the ledger is in generation {current}; "
            "another gang of trainers has taken over, so this one must stop"
        )
        self.found = found
        self.current = current


class LedgerConflict(SonorantError):
    """A commit of examples that this generation never claimed: they could have been trained on twice."""

    def __init__(self, epoch: int, ordinals: Sequence[int]) -> None:
        super().__init__(
            f"commit in epoch {epoch} of {len(ordinals)} examples that were never claimed "
            f"(first: {list(ordinals[:5])}); claim examples before the step and commit only what was granted"
        )
        self.epoch = epoch
        self.ordinals = tuple(ordinals)


@dataclass(frozen=True, slots=True)
class LedgerProgress:
    """How far one epoch is; the rest of `total` is free."""

    total: int
    claimed: int
    committed: int
    rejected: int


class Ledger(Protocol):
    """What trainers and the coordinator ask of the ledger; every call is atomic.

    Calls may raise `Unavailable` when the ledger's store cannot be reached, and `ValueError` for an ordinal outside
    the corpus. `commit_and_claim`, `snapshot` and `restore` raise `StaleGeneration` when another generation is current.
    """

    def generation(self) -> int:
        """Return the current generation; 0 before the first `restore`."""
        ...

    def commit_and_claim(
        self,
        generation: int,
        committed: tuple[int, Sequence[int]],
        claimed: tuple[int, Sequence[int]],
        token: str | None = None,
    ) -> list[bool]:
        """Commit one step's (epoch, ordinals) and claim the next step's, in one round trip.

        What was claimed is committed, what is committed already stays so; `LedgerConflict` (and no change) if one was
        never claimed. Of what is to be claimed, False stands at each that is claimed, committed or rejected already.
        A claim with the `token` of the claim that was granted is granted again, so one whose answer got lost may be
        sent again. Without a token every call is a claim of its own.
        """
        ...

    def reject(self, epoch: int, ordinal: int, rejection: Rejection) -> bool:
        """Reject a free example; returns whether it now is rejected. One that is claimed or committed stays so."""
        ...

    def progress(self, epoch: int) -> LedgerProgress:
        """Return the counts of an epoch."""
        ...

    def rejections(self) -> list[Rejection]:
        """Return the rejections with their reasons, at most `REASONS_KEPT`, ordered by epoch and ordinal."""
        ...

    def rejected(self, epoch: int, ordinals: Sequence[int]) -> list[bool]:
        """Return whether each example is rejected."""
        ...

    def epochs(self) -> list[int]:
        """Return the epochs in which anything is committed or rejected, ascending."""
        ...

    def settled(self, epoch: int) -> Bitmap:
        """Return which examples are committed or rejected."""
        ...

    def snapshot(self, generation: int) -> bytes:
        """Return everything but claims, compressed; belongs into a checkpoint, taken after the step's commit."""
        ...

    def restore(self, generation: int, snapshot: bytes | None) -> None:
        """Begin a generation, above the current one, from exactly this snapshot, or from nothing; forgets claims."""
        ...


class MemoryLedger:
    """The reference implementation; lives as long as its process."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._generation = 0
        self._claims: dict[tuple[int, int], str | None] = {}
        self._state = LedgerSnapshot(total)

    def generation(self) -> int:
        """See `Ledger`."""
        return self._generation

    def commit_and_claim(
        self,
        generation: int,
        committed: tuple[int, Sequence[int]],
        claimed: tuple[int, Sequence[int]],
        token: str | None = None,
    ) -> list[bool]:
        """See `Ledger`."""
        self._check(generation)
        check_ordinals([*committed[1], *claimed[1]], self._total)
        self._commit(*committed)
        epoch, ordinals = claimed
        first = [ordinals.index(ordinal) == at for at, ordinal in enumerate(ordinals)]
        return [fresh and self._grant(epoch, ordinal, token) for fresh, ordinal in zip(first, ordinals, strict=True)]

    def reject(self, epoch: int, ordinal: int, rejection: Rejection) -> bool:
        """See `Ledger`."""
        check_ordinals([ordinal], self._total)
        if self._state.committed(epoch).has([ordinal])[0] or (epoch, ordinal) in self._claims:
            return False
        if not self._state.rejected(epoch).has([ordinal])[0]:
            self._state.rejected(epoch).add([ordinal])
            if len(self._state.reasons) < REASONS_KEPT:
                self._state.reasons[epoch, ordinal] = rejection
        return True

    def progress(self, epoch: int) -> LedgerProgress:
        """See `Ledger`."""
        return LedgerProgress(
            total=self._total,
            claimed=sum(e == epoch for e, _ in self._claims),
            committed=self._state.committed(epoch).count(),
            rejected=self._state.rejected(epoch).count(),
        )

    def rejections(self) -> list[Rejection]:
        """See `Ledger`."""
        return [self._state.reasons[name] for name in sorted(self._state.reasons)]

    def rejected(self, epoch: int, ordinals: Sequence[int]) -> list[bool]:
        """See `Ledger`."""
        check_ordinals(ordinals, self._total)
        flags: list[bool] = self._state.rejected(epoch).has(ordinals).tolist()
        return flags

    def epochs(self) -> list[int]:
        """See `Ledger`."""
        return [epoch for epoch in self._state.epochs() if self.settled(epoch).count()]

    def settled(self, epoch: int) -> Bitmap:
        """See `Ledger`."""
        return self._state.committed(epoch) | self._state.rejected(epoch)

    def snapshot(self, generation: int) -> bytes:
        """See `Ledger`."""
        self._check(generation)
        return self._state.encode()

    def restore(self, generation: int, snapshot: bytes | None) -> None:
        """See `Ledger`."""
        if generation <= self._generation:
            raise StaleGeneration(generation, self._generation)
        state = LedgerSnapshot(self._total) if snapshot is None else LedgerSnapshot.decode(snapshot, self._total)
        self._generation, self._state, self._claims = generation, state, {}

    def _check(self, generation: int) -> None:
        if generation != self._generation:
            raise StaleGeneration(generation, self._generation)

    def _commit(self, epoch: int, ordinals: Sequence[int]) -> None:
        committed = self._state.committed(epoch)
        before = committed.has(ordinals)
        claims = [(epoch, ordinal) in self._claims for ordinal in ordinals]
        if unclaimed := [o for o, done, mine in zip(ordinals, before, claims, strict=True) if not (done or mine)]:
            raise LedgerConflict(epoch, unclaimed)
        committed.add(ordinals)
        for ordinal in ordinals:
            self._claims.pop((epoch, ordinal), None)

    def _grant(self, epoch: int, ordinal: int, token: str | None) -> bool:
        if (epoch, ordinal) in self._claims:
            return token is not None and self._claims[epoch, ordinal] == token
        if self._state.committed(epoch).has([ordinal])[0] or self._state.rejected(epoch).has([ordinal])[0]:
            return False
        self._claims[epoch, ordinal] = token
        return True


def check_ordinals(ordinals: Sequence[int], total: int) -> None:
    """Raise `ValueError` if an ordinal is outside [0, total)."""
    for ordinal in ordinals:
        if not 0 <= ordinal < total:
            raise ValueError(f"ordinal {ordinal}: the corpus has {total} examples, so it must be in 0..{total - 1}")
