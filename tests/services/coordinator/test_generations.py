"""A call of one generation in whose middle the next one begins."""

import contextlib

import pytest
import redis
from rigs.coordinator_world import COUNTS, EVERYTHING, TOTAL, names
from rigs.small_corpus import digits_recipe

from services.coordination.redis_ledger import RedisLedger, Start
from services.coordinator.control import ControlPlane
from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import LedgerLost, Rejection, StaleGeneration

NEXT = Start(generation=2, epoch=0, last_epoch=0)


class Interrupted(RedisLedger):
    """A ledger that lets something happen before, or after, the next start is written."""

    before = after = None

    def remember_start(self, start):
        before, self.before = self.before, None
        if before:
            before()
        super().remember_start(start)
        after, self.after = self.after, None
        if after:
            after()


@pytest.fixture
def ledger(redis_url):
    ledger = Interrupted(redis_url, TOTAL)
    ledger.restore(1, None)
    yield ledger
    ledger.close()


@pytest.fixture
def control(ledger):
    control = ControlPlane(digits_recipe(), COUNTS, ledger)
    control.register("shard_reader", "r", "", now=0.0)
    return control


@pytest.fixture
def next_begins(ledger, control):
    def begin():
        ledger.restore(2, None)
        control.start_generation(NEXT)

    return begin


def leased(control):
    leases = []
    while (lease := control.acquire("r", now=0.0)) is not None:
        leases.append(lease)
    return names(leases)


def goes_on(ledger):
    """Return what a coordinator that starts again would lease."""
    again = ControlPlane(digits_recipe(), COUNTS, ledger)
    assert again.resume()
    again.register("shard_reader", "r", "", now=0.0)
    return leased(again)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_end_does_not_close_the_leases_of_a_generation_that_begins_meanwhile(ledger, control, next_begins, when):
    control.start_generation(Start(1, 0, 0))
    setattr(ledger, when, next_begins)
    with contextlib.suppress(StaleGeneration):
        control.end_training(1)
    assert control.status(0.0).generation == 2
    assert not control.finished
    assert leased(control) == EVERYTHING
    assert goes_on(ledger) == EVERYTHING


@pytest.mark.parametrize("told", [1, 3])
def test_an_end_of_another_generation_ends_nothing(ledger, control, next_begins, told):
    """Rank 0 of a gang that has ended wakes late, or the coordinator does not know of the newest one yet."""
    control.start_generation(Start(1, 0, 0))
    next_begins()
    with pytest.raises(StaleGeneration):
        control.end_training(told)
    assert not control.finished
    assert leased(control) == EVERYTHING
    assert goes_on(ledger) == EVERYTHING


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_start_that_was_held_up_takes_nothing_from_the_generation_after_it(ledger, control, next_begins, when):
    setattr(ledger, when, next_begins)
    with pytest.raises(StaleGeneration):
        control.start_generation(Start(1, 0, 0))
    assert control.status(0.0).generation == 2
    assert goes_on(ledger) == EVERYTHING


def test_a_start_that_comes_again_after_the_end_opens_nothing(ledger, control):
    control.start_generation(Start(1, 0, 0))
    control.end_training(1)
    control.start_generation(Start(1, 0, 0))
    assert control.finished
    assert leased(control) == []
    assert goes_on(ledger) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_start_that_is_made_twice_at_once_begins_once_and_does_not_undo_the_end(ledger, control, when):
    start = Start(1, 0, 0)

    def begin_and_end():
        control.start_generation(start)
        assert leased(control) == EVERYTHING
        control.end_training(1)

    setattr(ledger, when, begin_and_end)
    control.start_generation(start)
    assert control.finished
    assert leased(control) == []
    assert goes_on(ledger) == []


def rejection(ordinal):
    shard, index = EVERYTHING[ordinal]
    return Rejection(Lineage(0, shard, index), f"u{ordinal}", "vtlp", "NaN at sample 3, expected finite samples")


@pytest.mark.parametrize("what", ["restore", "restore and start"])
@pytest.mark.parametrize("when", ["before it is written", "before it is settled"])
def test_an_example_that_is_rejected_while_the_next_generation_begins_is_leased_again_in_it(
    ledger, control, when, what
):
    """The ledger of the next generation does not know the rejection, so its lease book may not either."""
    control.start_generation(Start(1, 0, 0))
    write = ledger.reject

    def meanwhile():
        ledger.restore(2, None)
        if what == "restore and start":
            control.start_generation(NEXT)

    def interrupted(*arguments):
        ledger.reject = write
        if when == "before it is written":
            meanwhile()
        written = write(*arguments)
        if when == "before it is settled":
            meanwhile()
        return written

    ledger.reject = interrupted
    control.reject(rejection(2))
    if what == "restore":
        control.start_generation(NEXT)
    assert leased(control) == EVERYTHING
    control.reject(rejection(2))  # the copy that was leased again fails like the first
    (epoch,) = control.epochs()
    assert epoch.outstanding == TOTAL - 1
    assert ledger.rejected(0, range(TOTAL)) == [ordinal == 2 for ordinal in range(TOTAL)]


def test_ranks_hear_that_a_rejection_was_lost_from_the_coordinator_that_wrote_it(redis_url, ledger, control):
    control.start_generation(Start(1, 0, 0))
    rank = RedisLedger(redis_url, TOTAL)
    with redis.Redis.from_url(redis_url) as client:
        before = {key: client.dump(key) for key in client.keys("*")}
        control.reject(rejection(2))
        rank.verify(1)
        client.flushall()
        for key, content in before.items():
            client.restore(key, 0, content)
    rank.verify(1)  # it has written nothing, so it has lost nothing
    control.refresh()
    with pytest.raises(LedgerLost, match=r"1 of 2 acknowledged writes of \w+ are lost.*last checkpoint"):
        rank.verify(1)
    rank.close()
    control.reject(rejection(3))  # forgotten like the other one
    ledger.restore(2, None)
    control.start_generation(NEXT)
    control.refresh()
    assert leased(control) == EVERYTHING


def test_a_start_that_ended_is_not_resumed_when_the_recipe_asks_for_more(ledger, control):
    control.start_generation(Start(1, 0, 0))
    control.end_training(1)
    again = ControlPlane(digits_recipe(), COUNTS, ledger, complete=False)
    assert not again.resume()
    assert not again.finished
    ledger.restore(2, None)
    again.start_generation(Start(2, 0, 0))
    again.register("shard_reader", "r", "", now=0.0)
    assert leased(again) == EVERYTHING


def test_a_redis_that_has_forgotten_all_does_not_make_complete_training_go_on(ledger):
    again = ControlPlane(digits_recipe(), COUNTS, ledger, complete=True)
    assert not again.resume()
    assert again.finished
