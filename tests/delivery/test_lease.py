from collections import Counter

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.lease import LeaseBook

COUNTS = (7, 1, 12)
TOTAL = sum(COUNTS)


def book(**changes):
    options = {"seed": 3, "lease_examples": 4, "lease_timeout_s": 60.0, "lookahead_examples": 6} | changes
    return LeaseBook(options.pop("counts", COUNTS), **options)


def lease_all(leases, now=0.0):
    taken = []
    while (lease := leases.acquire("r", now)) is not None:
        taken.append(lease)
    return taken


def ordinals(leases, epoch):
    return [o for lease in leases if lease.epoch == epoch for o in lease.ordinals.tolist()]


def test_an_epoch_is_leased_once_and_whole():
    leases = book(lookahead_examples=0)
    leases.start_generation(0, 5, {})
    taken = lease_all(leases)
    assert sorted(ordinals(taken, 0)) == list(range(TOTAL))
    assert {lease.epoch for lease in taken} == {0}
    for lease in taken:
        assert 1 <= len(lease.indexes) <= 4
        assert leases.ordinals(lease.shard, lease.indexes).tolist() == lease.ordinals.tolist()


def test_the_order_depends_on_seed_and_epoch_only():
    def order(seed, epoch):
        leases = book(seed=seed, lookahead_examples=0)
        leases.start_generation(epoch, epoch, {})
        return ordinals(lease_all(leases), epoch)

    assert order(3, 0) == order(3, 0)
    assert len({tuple(order(s, e)) for s in (3, 4) for e in (0, 1)}) == 4


def test_the_next_epoch_is_read_ahead_only_so_far():
    leases = book()
    leases.start_generation(0, 5, {})
    ahead = ordinals(lease_all(leases), 1)
    assert 6 <= len(ahead) <= 6 + 3
    leases.settle(0, range(TOTAL))
    assert sorted(ahead + ordinals(lease_all(leases), 1)) == list(range(TOTAL))


def test_no_lease_goes_beyond_the_last_epoch():
    leases = book()
    leases.start_generation(0, 0, {})
    lease_all(leases)
    leases.settle(0, range(TOTAL))
    assert leases.acquire("r", 0.0) is None
    assert [(p.epoch, p.outstanding) for p in leases.progress()] == [(0, 0)]


def test_a_generation_that_begins_after_the_last_epoch_leases_nothing():
    leases = book()
    leases.start_generation(2, 1, {})
    assert leases.acquire("r", 0.0) is None
    assert leases.progress() == []


def test_a_death_leases_again_what_is_under_way_and_no_more():
    leases = book(lookahead_examples=0)
    leases.start_generation(0, 5, {})
    taken = ordinals(lease_all(leases), 0)
    leases.settle(0, taken[:8])
    assert leases.lease_again() == TOTAL - 8
    assert sorted(ordinals(lease_all(leases), 0)) == sorted(taken[8:])
    assert leases.progress()[0].reissued == TOTAL - 8


def test_an_old_lease_is_given_up_for_what_it_still_holds():
    leases = book(lookahead_examples=0)
    leases.start_generation(0, 5, {})
    old = leases.acquire("r", 0.0)
    young = leases.acquire("r", 30.0)
    leases.settle(0, old.ordinals[:1])
    assert leases.expire(59.9) == []
    assert leases.expire(60.0) == [old]
    again = leases.acquire("s", 60.0)
    assert sorted(again.ordinals) == sorted(old.ordinals[1:])
    leases.settle(0, young.ordinals)
    assert leases.expire(90.0) == []


def test_a_generation_starts_from_what_the_ledger_has_settled():
    leases = book(lookahead_examples=0)
    leases.start_generation(0, 5, {})
    lease_all(leases)
    settled = Bitmap(TOTAL)
    settled.add([0, 7, 19])
    leases.start_generation(0, 5, {0: settled})
    assert sorted(ordinals(lease_all(leases), 0)) == sorted(set(range(TOTAL)) - {0, 7, 19})
    assert leases.progress()[0].outstanding == TOTAL - 3


def test_an_epoch_that_the_ledger_has_whole_is_skipped():
    leases = book(lookahead_examples=0)
    leases.start_generation(2, 5, {2: Bitmap(TOTAL).inverted()})
    assert {lease.epoch for lease in lease_all(leases)} == {3}


def test_a_record_that_no_shard_has_is_refused():
    with pytest.raises(ValueError, match="shard 1, record 1"):
        book().ordinals(1, [0, 1])


def test_a_million_examples_are_leased_quickly():
    leases = book(counts=(1000,) * 1000, lease_examples=512)
    leases.start_generation(0, 0, {})
    taken = lease_all(leases)
    leases.settle(0, np.concatenate([lease.ordinals for lease in taken]))
    assert leases.progress()[0].outstanding == 0


class LeaseMachine(RuleBasedStateMachine):
    """Drives the book as a pipeline would; `under_way` holds the copies that have not arrived."""

    @initialize(lookahead=st.integers(0, 9), size=st.integers(1, 6))
    def start(self, lookahead, size):
        self.lookahead, self.size, self.now = lookahead, size, 0.0
        self.leases = book(lookahead_examples=lookahead, lease_examples=size, lease_timeout_s=10.0)
        self.leases.start_generation(0, 2, {})
        self.under_way = []
        self.settled = set()
        self.excused = Counter()  # times that an example may have been leased beyond the first
        self.leased = Counter()

    @rule()
    def acquire(self):
        lease = self.leases.acquire("r", self.now)
        if lease is None:
            return
        names = [(lease.epoch, o) for o in lease.ordinals.tolist()]
        assert not self.settled & set(names)
        self.leased.update(names)
        self.under_way += [(name, self.now) for name in names]
        older = [e for e in range(lease.epoch) if sum(n[0] == e for n in self.settled) < TOTAL]
        if older:
            assert older == [lease.epoch - 1]
            known = {n for n in self.leased if n[0] == lease.epoch} | {n for n in self.settled if n[0] == lease.epoch}
            fresh = sum(self.leased[n] == 1 for n in names)
            assert len(known) - fresh < self.lookahead

    @rule(data=st.data(), count=st.integers(1, 8))
    @precondition(lambda self: self.under_way)
    def some_arrive(self, data, count):
        for _ in range(min(count, len(self.under_way))):
            at = data.draw(st.integers(0, len(self.under_way) - 1))
            (epoch, ordinal), _ = self.under_way.pop(at)
            self.leases.settle(epoch, [ordinal])
            self.settled.add((epoch, ordinal))

    @rule(data=st.data())
    def a_replica_dies_with_part_of_what_is_under_way(self, data):
        lost = data.draw(st.integers(0, len(self.under_way)))
        self.excused.update({name for name, _ in self.under_way})
        del self.under_way[:lost]
        self.leases.lease_again()

    @rule(passed=st.floats(0, 8))
    def time_passes(self, passed):
        self.now += passed
        self.excused.update({name for name, since in self.under_way if self.now - since >= 10.0})
        self.leases.expire(self.now)

    @invariant()
    def an_example_is_leased_again_only_with_a_reason(self):
        if hasattr(self, "leases"):
            assert all(self.leased[name] <= 1 + self.excused[name] for name in self.leased)
            for progress in self.leases.progress():
                settled = sum(name[0] == progress.epoch for name in self.settled)
                assert progress.outstanding == TOTAL - settled

    def teardown(self):
        """Whatever happened, the run can still be brought to its end."""
        if not hasattr(self, "leases"):
            return
        for _ in range(500):
            self.now += 10.0
            self.leases.expire(self.now)
            for lease in lease_all(self.leases, self.now):
                self.leases.settle(lease.epoch, lease.ordinals)
                self.settled.update((lease.epoch, o) for o in lease.ordinals.tolist())
            if len(self.settled) == 3 * TOTAL:
                break
        assert self.settled == {(epoch, o) for epoch in range(3) for o in range(TOTAL)}


TestLeaseMachine = LeaseMachine.TestCase
TestLeaseMachine.settings = settings(max_examples=60, stateful_step_count=40)
