"""Leases: who reads which records, in which order, and what is read again when somebody dies.

An example is *pending* until it is leased to a shard reader, *leased* until it is settled, and *settled* once it has
arrived at a trainer, was rejected, or stands in the ledger. Nobody can tell where in the pipeline a leased example is,
so when any replica dies, or a link breaks, all leased examples become pending again; when a lease is too old, those of
it do. The copies that come of it are refused where they are claimed. An epoch is through when nothing of it is
outstanding, that is, not settled. It is a plain machine: events come in as calls, with the time (monotonic, in seconds)
where it matters.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import IntArray
from sonorant.pipeline.ledger import Bitmap
from sonorant.randomness import generator

__all__ = ["EpochLeases", "Lease", "LeaseBook"]

_PENDING, _LEASED, _SETTLED = np.uint8(0), np.uint8(1), np.uint8(2)
_THROUGH_SHOWN = 8  # epochs that `progress` shows after they are through, so that nobody who asks seldom misses one


@dataclass(frozen=True, slots=True)
class Lease:
    """Records of one shard and epoch that one shard reader is to read; `ordinals` are theirs in the epoch."""

    number: int
    epoch: int
    shard: int
    indexes: tuple[int, ...]
    ordinals: IntArray
    replica: str
    deadline_s: float


@dataclass(frozen=True, slots=True)
class EpochLeases:
    """How far the reading of one epoch is: `outstanding` examples are not settled, `reissued` were leased again."""

    epoch: int
    total: int
    outstanding: int
    reissued: int


@dataclass
class _Epoch:
    """One epoch's examples: `state` by ordinal, and what is to be leased."""

    number: int
    state: NDArray[np.uint8]
    queue: deque[tuple[int, IntArray]]  # (shard, ordinals) in the order of leasing
    outstanding: int
    begun: int = 0  # examples leased or settled at least once
    reissued: int = 0
    ever_leased: Bitmap = field(default_factory=lambda: np.zeros(0, dtype=bool))


class LeaseBook:
    """All leases of one generation of trainers.

    counts: records in each shard. lease_examples: most examples in a lease. lease_timeout_s: age at which a lease is
    given up. lookahead_examples: examples of the next epoch that may be under way before the one before is through.
    """

    def __init__(
        self, counts: Sequence[int], *, seed: int, lease_examples: int, lease_timeout_s: float, lookahead_examples: int
    ) -> None:
        self._starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self._seed = seed
        self._lease_examples = lease_examples
        self._lease_timeout_s = lease_timeout_s
        self._lookahead_examples = lookahead_examples
        self._numbers = 0
        self._leases: deque[Lease] = deque()  # by deadline, as all have the same time
        self._epochs: dict[int, _Epoch] = {}
        self._through: deque[EpochLeases] = deque(maxlen=_THROUGH_SHOWN)  # and forgotten but for this
        self._reissued: Counter[int] = Counter()  # by epoch, since `take_reissued`
        self._settled_before: Mapping[int, Bitmap] = {}
        self._last_epoch = -1

    @property
    def total(self) -> int:
        """Examples in an epoch."""
        return int(self._starts[-1])

    def ordinal(self, shard: int, index: int) -> int:
        """Return an example's position in the epoch; `ValueError` if the shard has no such record."""
        if not 0 <= shard < len(self._starts) - 1 or not 0 <= index < self._starts[shard + 1] - self._starts[shard]:
            raise ValueError(f"shard {shard}, record {index}: no such record in {len(self._starts) - 1} shards")
        return int(self._starts[shard]) + index

    def start_generation(self, epoch: int, last_epoch: int, settled: Mapping[int, Bitmap]) -> None:
        """Drop everything and lease, from `epoch` to `last_epoch`, what the ledger has not settled (Bool[total])."""
        self._leases.clear()
        self._epochs.clear()
        self._through.clear()
        self._settled_before = settled
        self._last_epoch = last_epoch
        self._open(epoch)

    def acquire(self, replica: str, now: float) -> Lease | None:
        """Lease the next records to a reader; None when there is nothing to read now."""
        self._open_ahead()
        blocking = False  # True once an older epoch is not through
        for epoch in [self._epochs[number] for number in sorted(self._epochs)]:
            if blocking and epoch.begun >= self._lookahead_examples:
                return None
            if (block := self._next_block(epoch)) is not None:
                return self._grant(epoch, *block, replica, now)
            blocking = blocking or epoch.outstanding > 0
        return None

    def settle(self, epoch: int, ordinals: Sequence[int] | IntArray) -> None:
        """Note that examples arrived at a trainer or were rejected; again, or for an unknown epoch, changes nothing."""
        if (book := self._epochs.get(epoch)) is None or len(ordinals) == 0:
            return
        fresh = np.unique(np.asarray(ordinals, dtype=np.int64))
        fresh = fresh[book.state[fresh] != _SETTLED]
        book.begun += int((~book.ever_leased[fresh]).sum())
        book.ever_leased[fresh] = True
        book.state[fresh] = _SETTLED
        book.outstanding -= len(fresh)

    def lease_again(self) -> int:
        """Make every leased example pending again, because any of them may be lost; return their number."""
        self._leases.clear()
        return sum(self._again(book, np.flatnonzero(book.state == _LEASED)) for book in self._epochs.values())

    def expire(self, now: float) -> list[Lease]:
        """Give up the leases whose time is over and that still hold examples; return those."""
        expired = []
        while self._leases and self._leases[0].deadline_s <= now:
            lease = self._leases.popleft()
            book = self._epochs[lease.epoch]
            if self._again(book, lease.ordinals[book.state[lease.ordinals] == _LEASED]):
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
        settled = self._settled_before.get(number)
        state = np.full(self.total, _PENDING) if settled is None else np.where(settled, _SETTLED, _PENDING)
        left = int((state != _SETTLED).sum())
        self._epochs[number] = _Epoch(
            number=number,
            state=state,
            queue=deque(self._order(number)),
            outstanding=left,
            begun=self.total - left,
            ever_leased=state == _SETTLED,
        )

    def _open_ahead(self) -> None:
        """Open the next epoch once the newest has nothing pending; one at most is read ahead."""
        while self._epochs:
            newest = max(self._epochs)
            waiting = sum(book.outstanding > 0 for book in self._epochs.values())
            pending = bool((self._epochs[newest].state == _PENDING).any())
            if pending or waiting > 1 or newest >= self._last_epoch:
                return
            self._open(newest + 1)
            self._forget_through(newest)

    def _forget_through(self, newest: int) -> None:
        for number in sorted(n for n, book in self._epochs.items() if n <= newest and book.outstanding == 0):
            self._through.append(self._shown(self._epochs.pop(number)))
        self._leases = deque(lease for lease in self._leases if lease.epoch in self._epochs)

    def _shown(self, book: _Epoch) -> EpochLeases:
        return EpochLeases(book.number, self.total, book.outstanding, book.reissued)

    def _order(self, epoch: int) -> list[tuple[int, IntArray]]:
        """Return the epoch's blocks in its own seeded order: shards are cut at a random phase, records in it mixed.

        Blocks stay contiguous in their shard, so that readers read forward; the phase changes from epoch to epoch who
        shares a block with whom.
        """
        rng = generator(self._seed, epoch, "", "lease")
        blocks = []
        for shard, (start, stop) in enumerate(pairwise(self._starts.tolist())):
            first = start + int(rng.integers(1, self._lease_examples + 1))
            cuts = [start, *range(first, stop, self._lease_examples), stop]
            blocks += [(shard, rng.permutation(np.arange(a, b))) for a, b in pairwise(cuts) if a < b]
        return [blocks[i] for i in rng.permutation(len(blocks))]

    def _next_block(self, book: _Epoch) -> tuple[int, IntArray] | None:
        while book.queue:
            shard, ordinals = book.queue.popleft()
            pending = ordinals[book.state[ordinals] == _PENDING]
            if len(pending):
                return shard, pending
        return None

    def _grant(self, book: _Epoch, shard: int, ordinals: IntArray, replica: str, now: float) -> Lease:
        self._numbers += 1
        book.state[ordinals] = _LEASED
        again = int(book.ever_leased[ordinals].sum())
        book.reissued += again
        if again:
            self._reissued[book.number] += again
        book.begun += len(ordinals) - again
        book.ever_leased[ordinals] = True
        indexes = tuple((ordinals - self._starts[shard]).tolist())
        deadline_s = now + self._lease_timeout_s
        lease = Lease(self._numbers, book.number, shard, indexes, ordinals, replica, deadline_s)
        self._leases.append(lease)
        return lease

    def _again(self, book: _Epoch, ordinals: IntArray) -> int:
        """Put leased examples at the head of the epoch's queue; return their number."""
        book.state[ordinals] = _PENDING
        shards = np.searchsorted(self._starts, ordinals, side="right") - 1
        for shard in np.unique(shards).tolist():
            of_shard = ordinals[shards == shard]
            for at in range(0, len(of_shard), self._lease_examples):
                book.queue.appendleft((shard, of_shard[at : at + self._lease_examples]))
        return len(ordinals)
