"""A call of one generation in whose middle the next one begins."""

import contextlib

import pytest
from coordinator_world import COUNTS, EVERYTHING, TOTAL, names
from small_corpus import digits_recipe

from services.coordinator.control import ControlPlane
from services.runtime.redis_ledger import RedisLedger, Start
from sonorant.pipeline.ledger import StaleGeneration

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
