"""The trainer's source: examples once, and the end of an epoch exactly when it is there."""

import contextlib

import pytest
from rigs.coordinator import ScriptedCoordinator
from rigs.links import Producer
from rigs.small_corpus import digits_recipe
from rigs.waiting import eventually

from services.trainer.example_source import LinkedExampleSource
from sonorant.recipe import Recipe
from sonorant.recipe.layout import lane_names
from sonorant.v1 import coordinator_pb2 as pb


@pytest.fixture
def setting():
    with contextlib.ExitStack() as stack:
        producer = Producer(dead_after_s=2.5, lane_names=lane_names(digits_recipe(), "featurizer"))
        stack.callback(producer.close)
        coordinator = ScriptedCoordinator()
        stack.callback(coordinator.close)
        coordinator.endpoints = [[producer.endpoint]]
        source = stack.enter_context(LinkedExampleSource(digits_recipe(), coordinator.address, "rank-0", generation=4))
        yield producer, coordinator, source


def _take(source, count):
    taken = []
    while len(taken) < count:
        examples = source.take(10.0)
        assert examples
        taken += [example.lineage.index for example in examples]
    return taken


def test_what_is_granted_comes_and_is_reported(setting):
    producer, coordinator, source = setting
    producer.offer(range(5))
    source.grant(3)
    assert _take(source, 3) == [0, 1, 2]
    source.grant(1)
    assert _take(source, 1) == [3]
    source.grant(2)
    eventually(lambda: source.meter.wanted() == 1)  # the fifth has come
    source.report(0.5, 4, 4.0)
    source.waited(0.25)
    eventually(lambda: any(beat.waited.ToMilliseconds() == 250 and beat.wanted == 1 for beat in coordinator.beats))
    eventually(lambda: sorted(i for b in coordinator.beats for r in b.arrived for i in r.indexes) == [0, 1, 2, 3, 4])
    assert all(beat.generation == 4 for beat in coordinator.beats)
    assert coordinator.known["rank-0"].stage == "trainer"


def test_a_second_copy_is_dropped_costs_no_credit_and_is_reported_again(setting):
    producer, coordinator, source = setting
    producer.offer([0, 1, 0, 1, 2])
    source.grant(3)
    assert _take(source, 3) == [0, 1, 2]
    eventually(lambda: sum(len(r.indexes) for b in coordinator.beats for r in b.arrived) == 5)
    assert sum(b.dropped[0] for b in coordinator.beats) == 2


def test_take_returns_nothing_when_nothing_comes(setting):
    assert setting[2].take(0.01) == []


def test_an_epoch_is_drained_when_nothing_is_outstanding_and_all_was_taken(setting):
    producer, coordinator, source = setting
    producer.offer([0])
    source.grant(1)
    coordinator.epochs = [pb.EpochProgress(epoch=0, total=1, outstanding=1)]
    eventually(lambda: any(b.arrived for b in coordinator.beats))
    assert not source.drained(0)
    coordinator.epochs = [pb.EpochProgress(epoch=0, total=1, outstanding=0)]
    count = len(coordinator.beats)
    eventually(lambda: len(coordinator.beats) > count + 2)
    assert not source.drained(0)  # one waits here
    assert _take(source, 1) == [0]
    eventually(lambda: source.drained(0))
    assert not source.drained(1)


def test_epochs_before_the_oldest_listed_one_are_drained(setting):
    _producer, coordinator, source = setting
    coordinator.epochs = [pb.EpochProgress(epoch=3, total=9, outstanding=9)]
    eventually(lambda: source.drained(2))
    assert source.drained(0)
    assert not source.drained(3)


def test_in_strict_order_a_rank_takes_its_own_and_reports_before_all_ranks_together_have_much_to_tell():
    strict = {"pipeline": {"order": "strict", "lookahead_examples": 32}, "training": {"ranks": 4}}
    recipe = Recipe.model_validate(digits_recipe().model_dump(mode="json") | strict)
    producer = Producer(dead_after_s=2.5, lane_names=lane_names(recipe, "featurizer"))
    coordinator = ScriptedCoordinator()
    coordinator.interval_s = 1000.0  # no heartbeat but those that are asked for
    coordinator.endpoints = [[producer.endpoint]]
    with contextlib.ExitStack() as stack:
        stack.callback(producer.close)
        stack.callback(coordinator.close)
        source = stack.enter_context(LinkedExampleSource(recipe, coordinator.address, "rank-2", generation=4, rank=2))
        source.grant(8)
        for lane in range(4):
            producer.offer(range(10 * lane, 10 * lane + 3), lane=lane)
        assert _take(source, 3) == [20, 21, 22]
        eventually(lambda: any(r.indexes for beat in coordinator.beats for r in beat.arrived))
