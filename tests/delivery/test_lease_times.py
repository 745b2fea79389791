"""The lease book beside a chain that takes its time, with a setting that is far too short."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.delivery.lease import LeaseBook
from sonorant.delivery.lease_times import LeaseTimes

TICK_S = 0.25


class Chain:
    """Settles each example `latency_s` after it was leased; those in `lost` never, the first time."""

    def __init__(self, examples, latency_s, floor_s):
        self.book = LeaseBook((examples,), seed=1, lease_examples=8, lease_timeout_s=floor_s, lookahead_examples=0)
        self.book.start_generation(0, 0, {})
        self.latency_s = latency_s
        self.now = 0.0
        self.lost = set()
        self._arrivals = []

    def run(self, until_s, leases_per_tick=1):
        while self.now < until_s and self.book.progress()[0].outstanding:
            for _ in range(leases_per_tick):
                if (lease := self.book.acquire("r", self.now)) is not None:
                    kept = [o for o in lease.ordinals.tolist() if o not in self.lost]
                    self.lost -= set(lease.ordinals.tolist())
                    heapq.heappush(self._arrivals, (self.now + self.latency_s, kept))
            self.now += TICK_S
            while self._arrivals and self._arrivals[0][0] <= self.now:
                self.book.settle(0, heapq.heappop(self._arrivals)[1])
            self.book.expire(self.now)

    @property
    def reissued(self):
        return self.book.progress()[0].reissued


@pytest.mark.parametrize("latency_s", [3.0, 20.0, 50.0])
def test_a_setting_below_the_chains_latency_has_nothing_done_twice(latency_s):
    chain = Chain(4000, latency_s, floor_s=1.0)
    chain.run(1e6)
    assert chain.reissued == 0


def test_a_chain_that_becomes_ten_times_slower_is_learned_from_what_was_given_up_too_early():
    chain = Chain(16_000, 2.0, floor_s=1.0)
    chain.run(60)
    chain.latency_s = 20.0
    chain.run(1e6)
    assert 0 < chain.reissued < 0.1 * 16_000


def test_what_is_lost_in_silence_is_leased_again_soon_after_it_was_due():
    chain = Chain(4000, 2.0, floor_s=1.0)
    chain.run(60)
    unread = chain.book.acquire("r", chain.now)
    chain.run(chain.now + 12)
    assert chain.reissued == len(unread.ordinals)


def test_a_chain_that_loses_an_example_of_every_tenth_lease_does_not_raise_the_time_out():
    chain = Chain(8000, 2.0, floor_s=1.0)
    chain.lost = set(range(0, 8000, 80))
    chain.run(1e6)
    assert chain.reissued == 100
    assert chain.now < (8000 / 8 + 100) * TICK_S + 20.0


def test_most_leases_expire_in_a_chain_that_became_slower_and_few_in_one_that_loses_examples():
    times = LeaseTimes(1.0)

    def look(now, arrived):
        times.look(now, lambda epoch, ordinals: ordinals[0] < arrived)

    for number in range(20):
        times.granted(0, [number], 0.0)
    look(2.0, 18)
    assert times.timeout_s == 8.0
    look(8.0, 18)
    assert times.timeout_s == 8.0
    for number in range(100, 130):
        times.granted(0, [number], 10.0)
    look(18.0, 0)
    assert times.timeout_s == 16.0


def test_before_anything_is_measured_a_lease_has_a_minute():
    chain = Chain(8, 2.0, floor_s=1.0)
    chain.lost = {3}
    chain.run(59)
    assert chain.reissued == 0
    chain.run(70)
    assert chain.reissued == 1


def test_what_was_leased_again_for_a_death_tells_nothing_of_the_chain():
    times = LeaseTimes(1.0)
    for number in range(20):
        times.granted(0, [number], 0.0)
    times.look(5.0, lambda epoch, ordinals: True)
    assert times.timeout_s == 20.0
    times.granted(0, [30], 5.0)
    times.forget()
    times.look(5000.0, lambda epoch, ordinals: True)
    assert times.timeout_s == 20.0


@given(st.floats(0.1, 100), st.lists(st.floats(0, 1000), max_size=200))
def test_the_time_out_is_never_below_the_floor_nor_above_four_times_the_longest(least_s, taken_s):
    times = LeaseTimes(least_s)
    for taken in taken_s:
        times.granted(0, [0], 0.0)
        times.look(taken, lambda epoch, ordinals: True)
        assert least_s <= times.timeout_s <= max(60.0, least_s, 4 * max(taken_s))
