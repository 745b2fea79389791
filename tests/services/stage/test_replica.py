"""A replica of a stage between a producer and a consumer, in one process."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from rigs.coordinator import ScriptedCoordinator
from rigs.health import NOT_SERVING, SERVING, asked
from rigs.links import Consumer, Producer
from rigs.ports import free_port
from rigs.waiting import eventually

from services.coordination.durations import seconds
from services.process import health
from services.process.health import LIVE, health_at
from services.process.signals import Shutdown
from services.stage import replica as stage_room
from services.stage.build import build_replica
from services.stage.link_source import LinkSource
from services.stage.runtime import Replica
from sonorant.errors import RejectedExample, Unavailable
from sonorant.recipe.pipeline import PipelineRecipe

PIPELINE = PipelineRecipe(credits=3, heartbeat_s=0.2, dead_after_s=1.0, max_example_mb=0.1)


def _double(example, rng):
    index = example.lineage.index
    if index == 5:
        raise RejectedExample("too short")
    if index == 6:
        raise ZeroDivisionError("never thought of")
    if index == 9_999:
        raise OSError("the volume is gone")
    if index == 7:
        return example._replace(waveform=example.waveform.repeat(10_000))
    return example._replace(waveform=2 * example.waveform)


def _pulls(runtime):
    return LinkSource(runtime, "before", PIPELINE)


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def stage(stack):
    """A running replica, the producer before it, and the coordinator."""
    return _start(stack)


def _start(stack, compute=_double, server=None, **replica):
    producer = Producer()
    stack.callback(producer.close)
    coordinator = ScriptedCoordinator()
    stack.callback(coordinator.close)
    coordinator.endpoints = [[producer.endpoint]]
    shutdown = Shutdown()
    identity = Replica("double", "double-1", coordinator.address, **replica)
    made = build_replica(identity, _pulls, {"double": compute}, 0, PIPELINE, shutdown, server)
    thread = threading.Thread(target=made.run)
    thread.start()

    def end():
        shutdown.request()
        thread.join(20)
        assert not thread.is_alive()

    stack.callback(end)
    eventually(lambda: "double-1" in coordinator.known)
    return producer, coordinator, coordinator.known["double-1"].endpoint, shutdown, thread


def _consume(stack, endpoint, credits=4):
    consumer = Consumer([endpoint], credits)
    stack.callback(consumer.close)
    return consumer


def test_examples_are_computed_and_counted(stack, stage):
    producer, coordinator, endpoint, _, _ = stage
    producer.offer(range(5))
    consumer = _consume(stack, endpoint)
    doubled = [consumer.inbox.get(timeout=10) for _ in range(4)]
    assert [float(example.waveform[0]) for example in doubled] == [0.0, 2.0, 4.0, 6.0]
    eventually(lambda: sum(beat.examples for beat in coordinator.beats) == 4)
    assert sum(beat.audio.ToSeconds() for beat in coordinator.beats) == 4
    assert sum(beat.busy.ToNanoseconds() for beat in coordinator.beats) > 0


def test_a_stage_that_waits_is_busy_and_takes_no_cpu_time(stack):
    def wait(example, rng):
        time.sleep(0.05)
        return example

    producer, coordinator, endpoint, _, _ = _start(stack, wait)
    producer.offer(range(4))
    consumer = _consume(stack, endpoint)
    for _ in range(4):
        consumer.inbox.get(timeout=10)
    eventually(lambda: sum(beat.examples for beat in coordinator.beats) == 4)
    eventually(lambda: sum(beat.busy.ToMilliseconds() for beat in coordinator.beats) >= 200)
    busy_s, cpu_s = (sum(seconds(getattr(b, kind)) for b in coordinator.beats) for kind in ("busy", "cpu"))
    assert 0 < cpu_s < busy_s - 0.15


def test_an_example_that_cannot_be_processed_is_reported_and_the_others_go_on(stack, stage):
    producer, coordinator, endpoint, _, _ = stage
    producer.offer(range(4, 10))
    assert _consume(stack, endpoint).take(3) == [4, 8, 9]
    eventually(lambda: len(coordinator.rejections) == 3)
    reasons = {r.utterance: (r.stage, r.reason) for r in coordinator.rejections}
    assert reasons["u5"] == ("double", "too short")
    assert reasons["u6"] == ("double", "ZeroDivisionError: never thought of")
    assert "max_example_mb" in reasons["u7"][1]


def test_without_a_consumer_s_credit_no_more_is_taken_in_than_may_be_held(stack, stage):
    producer, coordinator, endpoint, _, _ = stage
    producer.offer(range(20, 40))
    eventually(lambda: coordinator.beats and coordinator.beats[-1].queued == 3)
    assert len(producer.handed) == 3
    assert sorted(_consume(stack, endpoint).take(20)) == list(range(20, 40))


def test_what_the_machine_fails_at_is_tried_again_and_holds_up_what_is_behind_it(stack):
    failures = [OSError("the volume is gone"), Unavailable("still away")]

    def stumble(example, rng):
        if example.lineage.index == 2 and failures:
            raise failures.pop()
        return _double(example, rng)

    producer, coordinator, endpoint, *_ = _start(stack, stumble)
    producer.offer([1, 2, 3])
    assert _consume(stack, endpoint).take(3) == [1, 2, 3]
    assert (coordinator.rejections, failures) == ([], [])


def test_a_replica_whose_machine_fails_for_long_ends_without_a_last_heartbeat_and_rejects_nothing(stack, monkeypatch):
    """What it held must be read again at once: its neighbours see a broken link, and the coordinator no clean leave."""
    monkeypatch.setattr(stage_room, "_PATIENCE_S", 0.3)
    producer = Producer()
    stack.callback(producer.close)
    coordinator = ScriptedCoordinator()
    stack.callback(coordinator.close)
    coordinator.endpoints = [[producer.endpoint]]
    shutdown = Shutdown()
    identity = Replica("double", "double-1", coordinator.address)
    replica = build_replica(identity, _pulls, {"double": _double}, 0, PIPELINE, shutdown)
    producer.offer([9_999, 1, 2])
    pool = stack.enter_context(ThreadPoolExecutor(1))
    stack.callback(shutdown.request)
    with pytest.raises(OSError, match="the volume is gone"):
        pool.submit(replica.run).result(20)
    eventually(lambda: producer.broken)
    assert coordinator.rejections == []
    assert not any(beat.draining for beat in coordinator.beats)


def test_a_draining_replica_hands_on_what_it_holds_and_takes_nothing_new(stack, stage):
    producer, coordinator, endpoint, shutdown, thread = stage
    producer.offer(range(20, 23))
    eventually(lambda: coordinator.beats and coordinator.beats[-1].queued == 3)
    consumer = _consume(stack, endpoint, credits=0)
    eventually(lambda: consumer.linked)  # linked, so that the drain has somebody to wait for
    shutdown.request()
    eventually(lambda: coordinator.beats[-1].draining)
    eventually(lambda: producer.links.consumers == 0)  # its credit is recalled a moment after that beat
    producer.offer([23])
    consumer.list([])
    consumer.release(4)
    assert consumer.take(3) == [20, 21, 22]
    thread.join(20)
    assert not thread.is_alive()
    assert (coordinator.beats[-1].draining, coordinator.beats[-1].queued) == (True, 0)
    assert producer.links.waiting == 1


def test_a_drain_without_a_consumer_ends_soon(stage):
    producer, coordinator, _, shutdown, thread = stage
    producer.offer([20])
    eventually(lambda: coordinator.beats and coordinator.beats[-1].queued == 1)
    shutdown.request()
    thread.join(10)
    assert not thread.is_alive()
    assert coordinator.beats[-1].queued > 0  # so the coordinator has it read again


def test_the_end_of_the_run_ends_the_replica(stage):
    _, coordinator, _, _, thread = stage
    coordinator.finished = True
    thread.join(10)
    assert not thread.is_alive()


def test_a_replica_that_stays_works_on_when_the_run_is_over(stack):
    producer, coordinator, endpoint, _, thread = _start(stack, stays=True)
    coordinator.finished = True
    beats = len(coordinator.beats)
    eventually(lambda: len(coordinator.beats) >= beats + 3)
    producer.offer([20])
    assert _consume(stack, endpoint).take(1) == [20]
    assert thread.is_alive()


def test_a_replica_serves_at_the_port_it_is_given(stack):
    port = free_port()
    *_, endpoint, _, _ = _start(stack, port=port)
    assert endpoint == f"tcp://127.0.0.1:{port}"


MAX_ITERATION_S = 2.0  # an idle loop sleeps for 1


@pytest.fixture
def server(stack, monkeypatch):
    monkeypatch.setattr(health, "_MAX_ITERATION_S", MAX_ITERATION_S)
    return stack.enter_context(health_at("127.0.0.1", 0))


def test_a_replica_that_hangs_in_an_example_is_not_live_until_it_resumes(stack, server):
    begun, leave = threading.Event(), threading.Event()

    def hang(example, rng):
        begun.set()
        leave.wait()
        return example

    producer, *_ = _start(stack, hang, server)
    stack.callback(leave.set)
    producer.offer([1])
    assert begun.wait(20)
    assert asked(server, LIVE) == SERVING
    eventually(lambda: asked(server, LIVE) == NOT_SERVING)
    leave.set()
    eventually(lambda: asked(server, LIVE) == SERVING)


def test_a_replica_that_is_busy_all_the_time_is_live(stack, server):
    answers = []

    def toil(example, rng):
        threading.Event().wait(MAX_ITERATION_S / 20)
        answers.append(asked(server, LIVE))
        return example

    producer, _, endpoint, *_ = _start(stack, toil, server)
    producer.offer(range(30))
    assert len(_consume(stack, endpoint).take(30)) == 30
    assert answers == 30 * [SERVING]
