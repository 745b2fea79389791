"""Leases: records to shard readers, in order, and again after a failure (at-least-once delivery).

An example is *pending* until it is leased to a shard reader, *leased* until it is settled, and *settled* once it has
arrived at a trainer, was rejected, or is committed in the ledger. The position of a leased example in the pipeline is
not known, so when any replica dies, or a link breaks, all leased examples become pending again; when a lease expires,
its own do. Duplicates are refused when they are claimed. An epoch is through when none of its examples is outstanding,
that is, not settled. It is a plain machine: events come in as calls, with the time (monotonic, in seconds) where it
matters.

State of an epoch: a bit for each settled example, the order of the blocks, and the leases under way.
"""

import heapq
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sonorant.arrays import IntArray
from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.lease_times import LeaseTimes
from sonorant.delivery.order import EpochOrder

__all__ = ["EpochLeases", "Lease", "LeaseBook"]

_THROUGH_SHOWN = 8  # completed epochs that `progress` shows, for clients that request it seldom


@dataclass(frozen=True, slots=True)
class Lease:
    """Records of one block that one shard reader is to read; `ordinals` are theirs in the epoch.

    position: the block's in the epoch's order.
    """

    number: int
    epoch: int
    position: int
    shard: int
    indexes: tuple[int, ...]
    ordinals: IntArray
    replica: str
    granted_s: float


@dataclass(frozen=True, slots=True)
class EpochLeases:
    """How far the reading of one epoch is: `outstanding` examples are not settled, `reissued` were leased again."""

    epoch: int
    total: int
    outstanding: int
    reissued: int


@dataclass
class _Epoch:
    """One epoch's examples; pending: those of `again`, and of the blocks from `position` on, that are not settled."""

    number: int
    order: EpochOrder
    settled: Bitmap
    outstanding: int
    begun: int  # examples leased at least once, or settled before
    position: int = 0  # the next block that was never leased
    oldest: int = 0  # no block before this one holds an example that is not settled
    again: list[tuple[int, IntArray]] = field(default_factory=list)  # heap of (position, ordinals) to lease again
    reissued: int = 0

    def unsettled(self, ordinals: IntArray) -> IntArray:
        """Return those that are not settled, in their order."""
        return ordinals[~self.settled.has(ordinals)]

    @property
    def exhausted(self) -> bool:
        """Whether nothing is pending."""
        return not self.again and self.position == len(self.order)

    def pop_again(self) -> tuple[int, IntArray] | None:
        """Remove and return (position, ordinals) of the first that are to be leased again."""
        while self.again:
            position, ordinals = heapq.heappop(self.again)
            if len(pending := self.unsettled(ordinals)):
                return position, pending
        return None

    def pop_fresh(self, reach: int | None) -> tuple[int, IntArray] | None:
        """Return (position, ordinals) of the next block; None if all are leased, or it is `reach` past the oldest."""
        while self.position < len(self.order):
            if reach is not None and self._stretch() >= reach:
                return None
            pending = self.unsettled(self.order.ordinals(self.position))
            self.position += 1
            if len(pending):
                return self.position - 1, pending
        return None

    def _stretch(self) -> int:
        """Return how many blocks were begun from the oldest on that is not settled."""
        while self.oldest < self.position:
            _, first, stop = self.order.span(self.oldest)
            if not self.settled.has(np.arange(first, stop)).all():
                break
            self.oldest += 1
        return self.position - self.oldest


class LeaseBook:
    """All leases of one generation of trainers.

    counts: records in each shard. lease_examples: most examples in a lease. lease_timeout_s: least age at which a lease
    is given up, however fast the chain is measured to be. lookahead_examples: examples of the next epoch that may be
    under way before the one before is through. reach_examples: how far past the oldest example that is not settled
    others may be leased, a lease at least; None: any distance. This bounds a reorder buffer of the epoch's order.
    """

    def __init__(
        self,
        counts: Sequence[int],
        *,
        seed: int,
        lease_examples: int,
        lease_timeout_s: float,
        lookahead_examples: int,
        reach_examples: int | None = None,
    ) -> None:
        self._counts = tuple(counts)
        self._starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self._seed = seed
        self._lease_examples = lease_examples
        self._times = LeaseTimes(lease_timeout_s)
        self._lookahead_examples = lookahead_examples
        self._reach = None if reach_examples is None else max(1, reach_examples // lease_examples)  # in blocks
        self.leases = self.leased = self.reissued = 0  # leases given; examples in them, and those leased before
        self._leases: deque[Lease] = deque()  # by the time of their grants
        self._epochs: dict[int, _Epoch] = {}
        self._through: deque[EpochLeases] = deque(maxlen=_THROUGH_SHOWN)  # and forgotten but for this
        self._reissued: Counter[int] = Counter()  # by epoch, since `take_reissued`
        self._settled_before: Mapping[int, Bitmap] = {}
        self._last_epoch = -1
        self._closed = False

    @property
    def total(self) -> int:
        """Examples in an epoch."""
        return int(self._starts[-1])

    def ordinals(self, shard: int, indexes: Sequence[int]) -> IntArray:
        """Return records' positions in the epoch; `ValueError` if the shard has no such record."""
        count = self._counts[shard] if 0 <= shard < len(self._counts) else 0
        found = np.asarray(indexes, dtype=np.int64)
        if len(wrong := found[(found < 0) | (found >= count)]) or not count:
            record = int(wrong[0]) if len(wrong) else 0
            raise ValueError(
                f"shard {shard}, record {record}: no such record; there are {len(self._counts)} shards"
                + (f", and this one has {count} records" if count else "")
            )
        ordinals: IntArray = self._starts[shard] + found
        return ordinals

    def start_generation(self, epoch: int, last_epoch: int, settled: Mapping[int, Bitmap]) -> None:
        """Drop everything and lease, from `epoch` to `last_epoch`, what the ledger has not settled."""
        self._leases.clear()
        self._times.forget()
        self._epochs.clear()
        self._through.clear()
        self._settled_before = settled
        self._last_epoch = last_epoch
        self._closed = False
        if epoch <= last_epoch:  # else all examples were trained on, and only EndTraining is missing
            self._open(epoch)

    def close(self) -> None:
        """Lease nothing more, until another generation starts."""
        self._closed = True

    def acquire(self, replica: str, now: float) -> Lease | None:
        """Lease the next records to a reader; None when there is nothing to read now."""
        while self._epochs and not self._closed:
            blocking = False  # True once an older epoch is not through
            for epoch in [self._epochs[number] for number in sorted(self._epochs)]:
                if blocking and epoch.begun >= self._lookahead_examples:
                    return None
                if (found := epoch.pop_again()) is not None:
                    return self._grant(epoch, *found, replica, now, again=True)
                if (found := epoch.pop_fresh(self._reach)) is not None:
                    return self._grant(epoch, *found, replica, now, again=False)
                blocking = blocking or epoch.outstanding > 0
            if not self._open_next():
                break
        return None

    def settle(self, epoch: int, ordinals: Sequence[int] | IntArray) -> None:
        """Note that examples arrived at a trainer or were rejected; idempotent, without effect for an unknown epoch."""
        if (book := self._epochs.get(epoch)) is None or len(ordinals) == 0:
            return
        fresh = book.unsettled(np.unique(np.asarray(ordinals, dtype=np.int64)))
        book.settled.add(fresh)
        book.outstanding -= len(fresh)

    def lease_again(self) -> int:
        """Make every leased example pending again, since any may be lost; return their number."""
        leases, self._leases = self._leases, deque()
        self._times.forget()
        return sum(self._again(lease) for lease in leases)

    def expire(self, now: float) -> list[Lease]:
        """Expire the leases that are too old and still hold examples; return those."""
        self._times.look(now, self._all_settled)
        expired = []
        while self._leases:
            lease = self._leases[0]
            if lease.granted_s + self._times.timeout_s > now and len(
                self._epochs[lease.epoch].unsettled(lease.ordinals)
            ):
                break
            self._leases.popleft()
            if self._again(lease):
                expired.append(lease)
        return expired

    def take_reissued(self) -> dict[int, int]:
        """Return how many examples of each epoch were leased again since the last call, over all generations."""
        taken, self._reissued = dict(self._reissued), Counter()
        return taken

    def progress(self) -> list[EpochLeases]:
        """Return the epochs opened in this generation, oldest first; of those that are through, the latest few."""
        return [*self._through, *(self._shown(self._epochs[number]) for number in sorted(self._epochs))]

    def _open(self, number: int) -> None:
        before = self._settled_before.get(number, Bitmap(0))
        order = EpochOrder(self._counts, self._seed, number, self._lease_examples)
        settled = Bitmap(self.total, before.packed())
        count = settled.count()
        self._epochs[number] = _Epoch(number, order, settled, outstanding=self.total - count, begun=count)

    def _open_next(self) -> bool:
        """Open the next epoch if the newest has nothing pending; one at most is read ahead."""
        newest = max(self._epochs)
        waiting = sum(book.outstanding > 0 for book in self._epochs.values())
        if not self._epochs[newest].exhausted or waiting > 1 or newest >= self._last_epoch:
            return False
        self._open(newest + 1)
        self._forget_through(newest)
        return True

    def _forget_through(self, newest: int) -> None:
        for number in sorted(n for n, book in self._epochs.items() if n <= newest and book.outstanding == 0):
            self._through.append(self._shown(self._epochs.pop(number)))
        self._leases = deque(lease for lease in self._leases if lease.epoch in self._epochs)

    def _shown(self, book: _Epoch) -> EpochLeases:
        return EpochLeases(book.number, self.total, book.outstanding, book.reissued)

    def _grant(
        self, book: _Epoch, position: int, ordinals: IntArray, replica: str, now: float, *, again: bool
    ) -> Lease:
        self.leases += 1
        self.leased += len(ordinals)
        if again:
            self.reissued += len(ordinals)
            book.reissued += len(ordinals)
            self._reissued[book.number] += len(ordinals)
        else:
            book.begun += len(ordinals)
        shard, _, _ = book.order.span(position)
        indexes = tuple((ordinals - self._starts[shard]).tolist())
        if not again:
            self._times.granted(book.number, ordinals, now)
        lease = Lease(self.leases, book.number, position, shard, indexes, ordinals, replica, granted_s=now)
        self._leases.append(lease)
        return lease

    def _all_settled(self, epoch: int, ordinals: IntArray) -> bool:
        book = self._epochs.get(epoch)  # None: the epoch is through
        return book is None or not len(book.unsettled(ordinals))

    def _again(self, lease: Lease) -> int:
        """Make the rest of a lease pending again, before all others; return its number of examples."""
        book = self._epochs[lease.epoch]
        ordinals = book.unsettled(lease.ordinals)
        if len(ordinals):  # a block has one lease at a time, so positions differ and arrays are never compared
            heapq.heappush(book.again, (lease.position, ordinals))
        return len(ordinals)
