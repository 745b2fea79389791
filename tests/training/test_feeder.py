import shutil
from functools import partial

import pytest
import redis
from rigs.redis import RedisServer
from rigs.waiting import eventually
from training.tiny import MemorySource, shard_counts, tiny_recipe, tiny_units

from services.coordination.redis_ledger import RedisLedger
from sonorant.delivery.ledger import MemoryLedger, StaleGeneration
from sonorant.objectives.registry import build_objective
from sonorant.training.fast_intake import FastIntake
from sonorant.training.feeder import EpochEnd, Feeder
from sonorant.training.labeller import Labeller
from sonorant.training.unrolling import batch_layout

TOTAL = 40  # ten batches of four


class CountedLedger(MemoryLedger):
    """Counts round trips: what goes over the wire at once is one."""

    def __init__(self, total):
        super().__init__(total)
        self.trips = 0

    def commit_and_claim(self, generation, committed, claimed, token=None):
        self.trips += 1
        return super().commit_and_claim(generation, committed, claimed, token)


@pytest.fixture
def ledger():
    ledger = CountedLedger(TOTAL)
    ledger.restore(1, None)
    return ledger


class Trickle(MemorySource):
    """One example arrives at each poll, if there is credit; `taken` are so many."""

    taken = 0

    def drained(self, epoch):
        return super().drained(epoch) and not self._left

    def take(self, timeout_s):
        count = min(1, self._credits, len(self._left))
        arrived, self._left = self._left[:count], self._left[count:]
        self._credits -= count
        self.taken += count
        return [self.make(o, e) for e, o in arrived]


class CountedLabeller(Labeller):
    """Adds to `sizes` how many examples are labelled together."""

    def __init__(self, sizes, *of):
        super().__init__(*of)
        self.sizes = sizes

    def label(self, examples):
        if examples:
            self.sizes.append(len(examples))
        return super().label(examples)


def feeder_of(ledger, source=None, labeller=Labeller, **training):
    recipe = tiny_recipe(epochs=1, **training)
    objective = build_objective(recipe, tiny_units())
    return Feeder(
        source or MemorySource(ledger, TOTAL),
        ledger,
        1,
        FastIntake(recipe.training, recipe.seed, rank=0),
        labeller(objective, shard_counts(TOTAL)),
        batch_layout(objective, recipe),
        epochs=1,
        measure=False,
    )


@pytest.fixture
def feeder(ledger):
    feeder = feeder_of(ledger)
    feeder.start()
    yield feeder
    feeder.close()


def batches(feeder):
    for _ in range(600):
        item = feeder.get(0.1)  # which tells of the thread's error when the time is over
        if isinstance(item, EpochEnd):
            return
        if item is not None:
            yield item
    pytest.fail("the epoch did not end")


def test_commits_ride_with_the_next_claims_and_flush_brings_the_rest(feeder, ledger):
    for batch in batches(feeder):
        feeder.commit(batch)
    assert ledger.trips == 10  # one for each claim, none for commits
    assert ledger.progress(0).committed < TOTAL  # the last claim was before the last steps
    feeder.flush()
    assert ledger.trips == 11
    assert (ledger.progress(0).committed, ledger.progress(0).claimed) == (TOTAL, 0)


@pytest.fixture
def trickle(ledger):
    """A feeder that nobody takes batches from, its source, and how many examples it has labelled together each time."""
    source, sizes = Trickle(ledger, TOTAL), []
    feeder = feeder_of(ledger, source, partial(CountedLabeller, sizes), pool_examples=8)
    feeder.start()
    yield feeder, source, sizes
    feeder.close()


def test_what_arrives_while_enough_batches_wait_is_labelled_together(trickle):
    feeder, source, sizes = trickle
    eventually(lambda: source.taken == sum(sizes) + 8)  # a whole pool
    assert set(sizes) == {1}
    before = len(sizes)
    assert feeder.get(0.0) is not None
    eventually(lambda: len(sizes) > before)
    assert sizes[before] == 8
    assert sum(len(batch.ordinals) for batch in batches(feeder)) == TOTAL - 4


def test_so_many_that_the_next_batch_would_wait_for_them_are_labelled_before_there_is_room(monkeypatch, trickle):
    feeder, source, sizes = trickle
    eventually(lambda: source.taken == sum(sizes) + 8)
    monkeypatch.setattr("sonorant.training.feeder._GROUP", 3)
    eventually(lambda: source.taken == sum(sizes) + 2)
    assert sizes[-2:] == [3, 3]
    assert sum(len(batch.ordinals) for batch in batches(feeder)) == TOTAL
    assert max(sizes) == 3


def test_an_epoch_does_not_end_before_all_that_has_arrived_is_labelled(monkeypatch, feeder):
    monkeypatch.setattr("sonorant.training.feeder._GROUP", 1)
    assert sum(len(batch.ordinals) for batch in batches(feeder)) == TOTAL


def test_a_gang_that_was_replaced_cannot_flush(feeder, ledger):
    feeder.commit(next(batches(feeder)))
    ledger.restore(2, None)
    with pytest.raises(StaleGeneration, match="generation 1: the ledger is in generation 2"):
        feeder.flush()


def test_what_the_thread_hits_is_raised_to_who_gets(feeder, ledger):
    ledger.restore(2, None)
    with pytest.raises(StaleGeneration):
        list(batches(feeder))


def test_an_epoch_costs_redis_one_call_a_step_and_one_to_end_it(tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    server = RedisServer(tmp_path)
    server.start()
    ledger = RedisLedger(server.url, TOTAL)
    ledger.restore(1, None)
    feeder = feeder_of(ledger)
    ledger.commit_and_claim(1, (0, ()), (0, ()))  # Redis has the script now
    with redis.Redis.from_url(server.url) as client:
        client.config_resetstat()
        feeder.start()
        for batch in batches(feeder):
            feeder.commit(batch)
        feeder.flush()
        feeder.close()
        calls = client.info("commandstats")
    assert calls["cmdstat_evalsha"]["calls"] == 10 + 1
    assert ledger.progress(0).committed == TOTAL
    ledger.close()
    server.kill()
