"""Standstill of a run: detection, the blocking process, and when the run is given up."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.fleet.stall import COORDINATOR, REDIS, TRAINER, GiveUp, Restart, Scene, StageScene, StallWatch

STALL_S, ITERATION_S = 180.0, 600.0
READER, ROOM = StageScene("shard_reader", queued=3, handed_on=50), StageScene("room", queued=4, handed_on=40)
RUNNING = Scene(generation=1, marks={"step": 5}, stages=(READER, ROOM), ranks=1, waited_s=10.0)


class World:
    """Looks once a second at a scene in which only what the trainer waits goes on."""

    def __init__(self, scene=RUNNING, waits=True):
        self.watch = StallWatch(STALL_S, ITERATION_S)
        self.scene, self._waits, self.now_s = scene, waits, 0.0
        self.watch.look(0.0, scene)

    def look(self, **changes):
        self.now_s += 1.0
        self.scene = replace(self.scene, waited_s=self.scene.waited_s + self._waits, **changes)
        return self.watch.look(1.0, self.scene)

    def until(self, seconds):
        """Return the (time, verdict)s of the next seconds."""
        verdicts = ((self.look(), self.now_s) for _ in range(seconds))
        return [(now_s, verdict) for verdict, now_s in verdicts if verdict is not None]

    def first(self, seconds=2000):
        (now_s, verdict), *_ = self.until(seconds)
        return round(now_s), verdict


def test_nothing_is_done_while_steps_are_made():
    world = World()
    for step in range(10):
        assert world.until(170) == []
        assert world.look(marks={"step": 6 + step}) is None


@pytest.mark.parametrize("mark", ["step", "epoch 3", "evaluated"])
def test_each_mark_is_progress(mark):
    world = World(replace(RUNNING, marks={mark: 1}))
    for count in range(2, 6):
        assert world.until(170) == []
        assert world.look(marks={mark: count}) is None


def test_the_stage_that_hands_nothing_on_is_restarted():
    world = World()
    at_s, verdict = world.first()
    assert (at_s, verdict.name) == (180, "room")
    assert verdict.because == "no step and no settled example for 180 s: room has 4 examples and sends none"


def test_one_that_hands_examples_on_is_not_the_one():
    world = World()
    for second in range(179):
        assert world.look(stages=(READER, replace(ROOM, handed_on=41 + second))) is None
    assert world.look().name == "shard_reader"


def test_the_reader_is_restarted_when_nobody_has_an_example():
    world = World(replace(RUNNING, stages=(replace(READER, queued=0), replace(ROOM, queued=0))))
    assert world.first()[1].name == "shard_reader"


@pytest.mark.parametrize(
    ("changes", "name", "after_s"),
    [
        ({"redis": False}, REDIS, STALL_S),
        ({"coordinator": False}, COORDINATOR, STALL_S),
        ({"finished": True, "ranks": 0}, TRAINER, STALL_S),
        ({"stages": (READER, replace(ROOM, registered=0))}, "room", ITERATION_S),
        ({"ranks": 0}, TRAINER, ITERATION_S),
    ],
    ids=["redis", "coordinator", "finished", "no replica", "no rank"],
)
def test_whom_it_waits_for_is_named(changes, name, after_s):
    world = World(replace(RUNNING, **changes))
    at_s, verdict = world.first()
    assert isinstance(verdict, Restart)
    assert (at_s, verdict.name) == (after_s, name)


def test_a_trainer_that_compiles_evaluates_or_writes_has_the_time_of_an_iteration():
    assert World(waits=False).first()[0] == ITERATION_S


def test_the_second_time_the_gang_is_restarted_and_the_third_ends_the_run():
    world = World()
    (first_s, first), (second_s, second), (third_s, third), *_ = world.until(600)
    assert [round(s) for s in (first_s, second_s, third_s)] == [180, 360, 540]
    assert (first.name, second.name) == ("room", TRAINER)
    assert third == GiveUp("no step and no settled example for 540 s: room has 4 examples and sends none")


def test_progress_forgives_what_was():
    world = World()
    assert len(world.until(400)) == 2
    world.look(marks={"step": 6})
    world.now_s = 0.0
    assert [(round(s), v.name) for s, v in world.until(200)] == [(180, "room")]


def test_a_new_gang_begins_with_older_counts_and_has_its_time():
    world = World()
    world.until(170)
    world.look(generation=2, marks={"step": 3}, ranks=0)
    world.now_s = 0.0
    assert world.first()[0] == ITERATION_S


def test_gangs_that_never_come_to_a_step_are_given_up():
    world = World(replace(RUNNING, marks={}))
    verdicts = []
    for generation in range(2, 40):
        verdicts += world.until(100)
        world.look(generation=generation)
    assert isinstance(verdicts[0][1], GiveUp)
    assert round(verdicts[0][0]) == 3 * ITERATION_S


def test_a_coordinator_that_counts_from_zero_again_neither_moves_nor_waits_less():
    world = World()
    world.until(100)
    world.look(stages=(replace(READER, handed_on=0), replace(ROOM, handed_on=0)))
    world.scene = replace(world.scene, waited_s=0.0)
    at_s, verdict = world.first()
    assert (at_s, verdict.name) == (180, "room")


def test_who_was_stopped_itself_has_seen_no_standstill():
    watch = StallWatch(STALL_S, ITERATION_S)
    assert watch.look(1.0, RUNNING) is None
    assert watch.look(3600.0, RUNNING) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=50))
def test_whatever_is_seen_a_run_without_progress_is_given_up(kinds):
    watch, verdict = StallWatch(STALL_S, ITERATION_S), None
    for second in range(int(3 * ITERATION_S) + 1):
        redis, coordinator, ranks, finished = kinds[second % len(kinds)]
        scene = replace(RUNNING, redis=redis, coordinator=coordinator, ranks=int(ranks), finished=finished, marks={})
        verdict = watch.look(1.0, scene)
        if isinstance(verdict, GiveUp):
            break
    assert isinstance(verdict, GiveUp)
