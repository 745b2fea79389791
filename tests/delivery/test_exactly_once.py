"""Leases, ledger and checkpoints together, against a plain count of what was trained on: each example once an epoch.

The machine plays everything around them: copies on their way, which arrive in any order, late, or never; two ranks;
arrivals that are reported late; restarts of the gang from its checkpoint and of the coordinator from the ledger.
"""

from collections import Counter

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from rigs.ledger_calls import claim, commit

from sonorant.delivery.example import Lineage
from sonorant.delivery.lease import LeaseBook
from sonorant.delivery.ledger import MemoryLedger, Rejection

COUNTS = (3, 2)
TOTAL = sum(COUNTS)
EPOCHS = 2


class Rank:
    """What the trainer's source and feeder do with an example's name, without its features."""

    def __init__(self):
        self.seen, self.drained = set(), set()
        self.pool, self.claimed = [], []
        self.unreported = []

    def take(self, name):
        if name[0] not in self.drained and name not in self.seen:
            self.seen.add(name)
            self.pool.append(name)
        self.unreported.append(name)

    def waits_at_end(self, epoch):
        return epoch in self.drained and all(e != epoch for e, _ in self.pool + self.claimed)


class Training(RuleBasedStateMachine):
    @initialize(lookahead=st.integers(0, 6))
    def begin(self, lookahead):
        self.lookahead = lookahead
        self.ledger = MemoryLedger(TOTAL)
        self.generation = 0
        self.under_way = []
        self.lost = False
        self.trained, self.rejected = Counter(), set()
        self.epoch = 0
        self.save()
        self.restart_gang()

    def save(self):
        self.saved = (self.ledger.snapshot(self.generation), self.trained.copy(), set(self.rejected), self.epoch)

    def book(self):
        leases = LeaseBook(COUNTS, seed=1, lease_examples=3, lease_timeout_s=1e9, lookahead_examples=self.lookahead)
        settled = {e: self.ledger.settled(e) for e in range(EPOCHS)}
        leases.start_generation(self.start, EPOCHS - 1, settled)
        return leases

    @rule(dice=st.integers(1, 4))
    def gang_dies(self, dice):
        if dice == 4:
            self.restart_gang()

    def restart_gang(self):
        """What the old gang's stages still hold may reach the new one."""
        snapshot, trained, rejected, self.epoch = self.saved
        self.trained, self.rejected = trained.copy(), set(rejected)
        self.generation += 1
        self.ledger.restore(self.generation, snapshot)
        self.start = self.epoch
        self.ranks = [Rank(), Rank()]
        self.leases = self.book()
        self.lost = False

    @rule(dice=st.integers(1, 4))
    def coordinator_dies(self, dice):
        if dice < 4:
            return
        self.leases = self.book()
        self.lost = False

    @rule()
    def lease(self):
        if (lease := self.leases.acquire("r", 0.0)) is not None:
            self.under_way += [(lease.epoch, ordinal) for ordinal in lease.ordinals.tolist()]

    @rule(at=st.integers(0, 10**6), rank=st.integers(0, 1))
    @precondition(lambda self: self.under_way)
    def arrive(self, at, rank):
        self.ranks[rank].take(self.under_way.pop(at % len(self.under_way)))

    @rule(rank=st.integers(0, 1), again=st.booleans())
    def much_arrives(self, rank, again):
        if again:
            self.notice_the_loss()
        for _ in range(3):
            self.lease()
        while self.under_way:
            self.ranks[rank].take(self.under_way.pop())

    @rule(at=st.integers(0, 10**6))
    @precondition(lambda self: self.under_way)
    def lose(self, at):
        del self.under_way[at % len(self.under_way)]
        self.lost = True

    @rule()
    def notice_the_loss(self):
        self.leases.lease_again()
        self.lost = False

    @rule(at=st.integers(0, 10**6))
    @precondition(lambda self: self.under_way)
    def reject(self, at):
        epoch, ordinal = self.under_way.pop(at % len(self.under_way))
        if self.ledger.reject(
            self.generation, epoch, ordinal, Rejection(Lineage(epoch, 0, ordinal), "", "room", "silence")
        ):
            self.rejected.add((epoch, ordinal))
        self.leases.settle(epoch, [ordinal])

    @rule(rank=st.integers(0, 1))
    def beat(self, rank):
        """Report what arrived; learn which epochs have nothing outstanding."""
        rank = self.ranks[rank]
        for epoch, ordinal in rank.unreported:
            self.leases.settle(epoch, [ordinal])
        rank.unreported = []
        progress = self.leases.progress()
        rank.drained |= {p.epoch for p in progress if not p.outstanding} | set(range(min(p.epoch for p in progress)))

    @rule(rank=st.integers(0, 1), size=st.integers(1, 4))
    def claim(self, rank, size):
        rank = self.ranks[rank]
        batch = [name for name in rank.pool if name[0] == self.epoch][:size]
        rank.pool = [name for name in rank.pool if name not in batch]
        granted = claim(self.ledger, self.generation, self.epoch, [ordinal for _, ordinal in batch])
        rank.claimed += [name for name, mine in zip(batch, granted, strict=True) if mine]

    @rule(rank=st.integers(0, 1))
    def train(self, rank):
        rank = self.ranks[rank]
        commit(self.ledger, self.generation, self.epoch, [ordinal for _, ordinal in rank.claimed])
        self.trained.update(rank.claimed)
        rank.claimed = []

    @rule()
    def checkpoint(self):
        self.save()

    @rule()
    def end_epoch(self):
        if self.epoch < EPOCHS and all(rank.waits_at_end(self.epoch) for rank in self.ranks):
            settled = {o for e, o in [*self.trained, *self.rejected] if e == self.epoch}
            assert settled == set(range(TOTAL)), "the epoch ended although examples are missing"
            self.epoch += 1
            self.save()

    @invariant()
    def nothing_is_trained_on_twice_and_the_ledger_says_what_was(self):
        if hasattr(self, "trained"):
            assert set(self.trained.values()) <= {1}
            assert not self.rejected & set(self.trained)
            for epoch in range(EPOCHS):
                settled = [o for e, o in [*self.trained, *self.rejected] if e == epoch]
                assert sorted(settled) == np.flatnonzero(self.ledger.settled(epoch).flags()).tolist()

    def teardown(self):
        """Whatever happened, training comes to its end, even if every example comes to both ranks."""
        if not hasattr(self, "trained"):
            return
        for _ in range(100):
            for rank in (0, 1):  # both get copies of everything
                self.much_arrives(rank, again=True)
                self.claim(rank, 4)
            for rank in (0, 1, 0):
                self.train(rank)
                self.beat(rank)
            self.nothing_is_trained_on_twice_and_the_ledger_says_what_was()
            self.end_epoch()
        assert self.epoch == EPOCHS


TestTraining = Training.TestCase
TestTraining.settings = settings(max_examples=60, stateful_step_count=50)
