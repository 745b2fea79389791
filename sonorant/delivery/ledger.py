"""The ledger: which examples of an epoch are claimed, committed or rejected.

It makes an epoch exact. An example is named by its epoch and its ordinal, its position in the train shards
(records of earlier shards + index). Each is in one of four states, and only these moves exist:

    free ──claim──▶ claimed ──commit──▶ committed          free ──reject──▶ rejected

A claim of a second copy finds the example no longer free and is refused. Every gang of trainers works
in a generation; `restore` begins one, and from then on writes of older gangs raise `StaleGeneration`.

A store may lose its last writes: a fail-over, a power cut, a truncated log. So it counts the writes of each client
in the generation, and answers with the count; the client sends what was acknowledged last with its next call. A
smaller count in the store means lost writes: the call, and all later ones of the generation, raise `LedgerLost`, and
a new gang restores a checkpoint. A retry that is counted twice does no harm, as nothing compares for equality.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.ledger_errors import LedgerConflict, LedgerLost, StaleGeneration
from sonorant.delivery.snapshot import LedgerSnapshot, Rejection

__all__ = [
    "REASONS_KEPT",
    "Ledger",
    "LedgerConflict",
    "LedgerLost",
    "LedgerProgress",
    "MemoryLedger",
    "MemoryStore",
    "Receipt",
    "Rejection",
    "StaleGeneration",
    "check_ordinals",
]

REASONS_KEPT = 1000  # rejections whose reasons are kept, the first ones; all are counted


class Receipt(NamedTuple):
    """The number of a client's writes in a generation that the ledger has acknowledged."""

    client: str
    generation: int = 0
    writes: int = 0


@dataclass(frozen=True, slots=True)
class LedgerProgress:
    """Counts of one epoch; the rest of `total` is free."""

    total: int
    claimed: int
    committed: int
    rejected: int


class Ledger(Protocol):
    """Interface of trainers and coordinator to the ledger; every call is atomic.

    Calls may raise `Unavailable` when the ledger's store cannot be reached, and `ValueError` for an ordinal outside
    the corpus. Those that name a generation raise `StaleGeneration` when a newer one is current, and `LedgerLost` when
    an older one is, or when writes of the generation were lost: the caller's, or those that another client missed.
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

    def reject(self, generation: int, epoch: int, ordinal: int, rejection: Rejection) -> bool:
        """Reject a free example; returns whether it now is rejected. One that is claimed or committed stays so."""
        ...

    def verify(self, generation: int) -> None:
        """Raise if another generation is current, or writes of this one were lost; for clients without a write."""
        ...

    def receipt(self) -> Receipt:
        """Return the writes acknowledged to this client; without a call to the store."""
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

    def snapshot(self, generation: int, receipts: Sequence[Receipt] = ()) -> bytes:
        """Return everything but claims, compressed; belongs into a checkpoint, taken after the step's commit.

        receipts: of all clients whose writes it must hold; `LedgerLost` if it does not.
        """
        ...

    def restore(self, generation: int, snapshot: bytes | None) -> None:
        """Begin a generation, above the current one, from exactly this snapshot, or from nothing; forgets claims."""
        ...


@dataclass
class MemoryStore:
    """What clients of a `MemoryLedger` share; `writes` by client, `lost`: the receipt that was found wanting."""

    state: LedgerSnapshot
    generation: int = 0
    claims: dict[tuple[int, int], str | None] = field(default_factory=dict)
    writes: dict[str, int] = field(default_factory=dict)
    lost: tuple[Receipt, int] | None = None


class MemoryLedger:
    """The reference implementation, one client of a store that lives as long as its process; default: of its own."""

    def __init__(self, total: int, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore(LedgerSnapshot(total))
        self._total = total
        self._receipt = Receipt(uuid.uuid4().hex)

    def generation(self) -> int:
        """See `Ledger`."""
        return self.store.generation

    def commit_and_claim(
        self,
        generation: int,
        committed: tuple[int, Sequence[int]],
        claimed: tuple[int, Sequence[int]],
        token: str | None = None,
    ) -> list[bool]:
        """See `Ledger`."""
        check_ordinals([*committed[1], *claimed[1]], self._total)
        self.verify(generation)
        self._commit(*committed)
        epoch, ordinals = claimed
        first = [ordinals.index(ordinal) == at for at, ordinal in enumerate(ordinals)]
        self._acknowledge(generation)
        return [fresh and self._grant(epoch, ordinal, token) for fresh, ordinal in zip(first, ordinals, strict=True)]

    def reject(self, generation: int, epoch: int, ordinal: int, rejection: Rejection) -> bool:
        """See `Ledger`."""
        check_ordinals([ordinal], self._total)
        self.verify(generation)
        self._acknowledge(generation)
        state = self.store.state
        if state.committed(epoch).has([ordinal])[0] or (epoch, ordinal) in self.store.claims:
            return False
        if not state.rejected(epoch).has([ordinal])[0]:
            state.rejected(epoch).add([ordinal])
            if len(state.reasons) < REASONS_KEPT:
                state.reasons[epoch, ordinal] = rejection
        return True

    def verify(self, generation: int) -> None:
        """See `Ledger`."""
        self._check(generation, (self._receipt,))

    def receipt(self) -> Receipt:
        """See `Ledger`."""
        return self._receipt

    def progress(self, epoch: int) -> LedgerProgress:
        """See `Ledger`."""
        return LedgerProgress(
            total=self._total,
            claimed=sum(e == epoch for e, _ in self.store.claims),
            committed=self.store.state.committed(epoch).count(),
            rejected=self.store.state.rejected(epoch).count(),
        )

    def rejections(self) -> list[Rejection]:
        """See `Ledger`."""
        return [self.store.state.reasons[name] for name in sorted(self.store.state.reasons)]

    def rejected(self, epoch: int, ordinals: Sequence[int]) -> list[bool]:
        """See `Ledger`."""
        check_ordinals(ordinals, self._total)
        flags: list[bool] = self.store.state.rejected(epoch).has(ordinals).tolist()
        return flags

    def epochs(self) -> list[int]:
        """See `Ledger`."""
        return [epoch for epoch in self.store.state.epochs() if self.settled(epoch).count()]

    def settled(self, epoch: int) -> Bitmap:
        """See `Ledger`."""
        return self.store.state.committed(epoch) | self.store.state.rejected(epoch)

    def snapshot(self, generation: int, receipts: Sequence[Receipt] = ()) -> bytes:
        """See `Ledger`."""
        self._check(generation, (self._receipt, *receipts))
        return self.store.state.encode()

    def restore(self, generation: int, snapshot: bytes | None) -> None:
        """See `Ledger`."""
        if generation <= self.store.generation:
            raise StaleGeneration(generation, self.store.generation)
        state = LedgerSnapshot(self._total) if snapshot is None else LedgerSnapshot.decode(snapshot, self._total)
        self.store.state, self.store.generation, self.store.lost = state, generation, None
        self.store.claims, self.store.writes = {}, {}

    def _check(self, generation: int, receipts: Sequence[Receipt]) -> None:
        store = self.store
        if generation < store.generation:
            raise StaleGeneration(generation, store.generation)
        if generation > store.generation:
            raise LedgerLost.of_generation(generation, store.generation)
        for receipt in receipts:
            found = store.writes.get(receipt.client, 0)
            if store.lost is None and receipt.generation == generation and found < receipt.writes:
                store.lost = (receipt, found)
        if store.lost is not None:
            receipt, found = store.lost
            raise LedgerLost.of_writes(receipt.client, receipt.writes, found)

    def _acknowledge(self, generation: int) -> None:
        client = self._receipt.client
        self.store.writes[client] = self.store.writes.get(client, 0) + 1
        self._receipt = Receipt(client, generation, self.store.writes[client])

    def _commit(self, epoch: int, ordinals: Sequence[int]) -> None:
        committed = self.store.state.committed(epoch)
        before = committed.has(ordinals)
        claims = [(epoch, ordinal) in self.store.claims for ordinal in ordinals]
        if unclaimed := [o for o, done, mine in zip(ordinals, before, claims, strict=True) if not (done or mine)]:
            raise LedgerConflict(epoch, unclaimed)
        committed.add(ordinals)
        for ordinal in ordinals:
            self.store.claims.pop((epoch, ordinal), None)

    def _grant(self, epoch: int, ordinal: int, token: str | None) -> bool:
        if (epoch, ordinal) in self.store.claims:
            return token is not None and self.store.claims[epoch, ordinal] == token
        state = self.store.state
        if state.committed(epoch).has([ordinal])[0] or state.rejected(epoch).has([ordinal])[0]:
            return False
        self.store.claims[epoch, ordinal] = token
        return True


def check_ordinals(ordinals: Sequence[int], total: int) -> None:
    """Raise `ValueError` if an ordinal is outside [0, total)."""
    for ordinal in ordinals:
        if not 0 <= ordinal < total:
            raise ValueError(f"ordinal {ordinal}: the corpus has {total} examples, so it must be in 0..{total - 1}")
