"""The proof that a run used each example exactly once an epoch, in the history that its checkpoint stands for.

Two independent records are compared: the ledger's bitmaps, stored in the checkpoint, mark the committed examples; the
training steps counted the examples that they trained on. If no bit is missing, and the steps' count equals the number
of bits, then no example was lost and none was used twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sonorant.delivery.ledger import Rejection
from sonorant.delivery.snapshot import LedgerSnapshot

__all__ = ["Audit", "EpochAudit", "audit"]


@dataclass(frozen=True, slots=True)
class EpochAudit:
    """One epoch, in numbers of examples; None: not recorded.

    lost: neither committed nor rejected although the epoch is over; left: the same of one that is not over.
    twice: trained on beyond the committed ones, or committed and rejected. unused: committed, but not trained on.
    reissued: leased again after a failure; duplicates_refused: copies that were not used. Both also count events before
    a restart from a checkpoint.
    """

    epoch: int
    total: int
    committed: int
    rejected: int
    trained: int | None
    lost: int
    left: int
    twice: int
    unused: int
    reissued: int | None
    duplicates_refused: int | None


@dataclass(frozen=True, slots=True)
class Audit:
    """All epochs, rejections with their reasons, and the steps' counts over all epochs."""

    epochs: tuple[EpochAudit, ...]
    rejections: tuple[Rejection, ...]
    committed: int
    trained: int
    skipped_steps: int = 0  # not finite, so that they changed nothing; their examples count as trained on

    @property
    def exact(self) -> bool:
        """True if no epoch lost an example, and none was used twice."""
        return self.committed == self.trained and not any(e.lost or e.twice or e.unused for e in self.epochs)


def audit(
    snapshot: LedgerSnapshot,
    epochs_over: int,
    trained: int,
    trained_by_epoch: Mapping[int, int] | None,
    events: Mapping[str, Mapping[int, int]] | None,
    skipped_steps: int = 0,
) -> Audit:
    """Compare a checkpoint's ledger with its steps' counts.

    epochs_over: number of finished epochs. trained: examples in all steps up to the checkpoint;
    trained_by_epoch: the same by epoch, if known. events: "reissued", "refused" (by the ledger) and "dropped" (by
    ranks, before a claim), by epoch, if known. skipped_steps: of all, those that changed no weights.
    """
    numbers = sorted({*range(epochs_over), *snapshot.epochs()})
    epochs = tuple(_epoch(snapshot, number, number < epochs_over, trained_by_epoch, events) for number in numbers)
    rejections = tuple(snapshot.reasons[name] for name in sorted(snapshot.reasons))
    return Audit(epochs, rejections, sum(e.committed for e in epochs), trained, skipped_steps)


def _epoch(
    snapshot: LedgerSnapshot,
    number: int,
    over: bool,
    trained_by_epoch: Mapping[int, int] | None,
    events: Mapping[str, Mapping[int, int]] | None,
) -> EpochAudit:
    committed, rejected = snapshot.committed(number), snapshot.rejected(number)
    count = committed.count()
    missing = snapshot.total - (committed | rejected).count()
    trained = None if trained_by_epoch is None else trained_by_epoch.get(number, 0)
    surplus = 0 if trained is None else trained - count
    return EpochAudit(
        epoch=number,
        total=snapshot.total,
        committed=count,
        rejected=rejected.count(),
        trained=trained,
        lost=missing if over else 0,
        left=0 if over else missing,
        twice=max(0, surplus) + (committed & rejected).count(),
        unused=max(0, -surplus),
        reissued=None if events is None else events["reissued"].get(number, 0),
        duplicates_refused=None if events is None else sum(events[e].get(number, 0) for e in ("refused", "dropped")),
    )
