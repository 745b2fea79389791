"""A cluster that has fewer cores than the stages need, which nobody has told the planner."""

import math

import pytest

from sonorant.capacity.measurements import Counters, Snapshot
from sonorant.capacity.planner import Planner, PlannerSettings
from sonorant.capacity.sizing import Bounds
from sonorant.capacity.supply import Supply

COSTS_S = {"vtlp": 0.02, "room": 0.1}
NEEDED = {"vtlp": 3, "room": 13}  # of 100 examples a second, at 0.8
EVERY_S, ARRIVAL_S, RETRY_S = 5.0, 60.0, 300.0


class Cluster:
    """Pods of two stages on nodes of some cores: those that fit nowhere wait."""

    def __init__(self, cores, **bounds):
        self.cores, self.bounds = cores, bounds
        self.told = dict.fromkeys(COSTS_S, 1)
        self.running = dict(self.told)
        self.now_s, self.done = 0.0, 0
        self.seen = True
        self.planner = Planner(tuple(COSTS_S), PlannerSettings(arrival_s=ARRIVAL_S, retry_s=RETRY_S, bounds=bounds))

    def run(self, seconds):
        """Let time pass; return the last decision."""
        for _ in range(round(seconds / EVERY_S)):
            self.now_s += EVERY_S
            self.done += 100
            decision = self.planner.decide(self._snapshot() if self.seen else None, self.told, self.now_s)
            self.told = dict(decision.replicas)
            self._schedule()
        return decision

    def _snapshot(self):
        stages = {
            stage: {f"{stage}-{n}": Counters(cost_s * self.done, self.done) for n in range(self.running[stage])}
            for stage, cost_s in COSTS_S.items()
        }
        return Snapshot(stages, {"rank-0": Counters(self.done / 100, self.done)}, {})

    def _schedule(self):
        self.running = {stage: min(count, self.told[stage]) for stage, count in self.running.items()}
        for stage, told in self.told.items():
            while self.running[stage] < told and self._taken() + self._of_one(stage) <= self.cores:
                self.running[stage] += 1

    def _of_one(self, stage):
        return self.bounds.get(stage, Bounds()).cores

    def _taken(self):
        return sum(count * self._of_one(stage) for stage, count in self.running.items())


def test_where_there_is_room_for_all_nothing_is_limited():
    cluster = Cluster(cores=16)
    decision = cluster.run(2 * ARRIVAL_S)
    assert (cluster.running, decision.limits) == (NEEDED, ())


@pytest.mark.parametrize(
    ("cores", "bounds", "given", "left"),
    [
        (8, {}, 8, {"vtlp": 2, "room": 6}),
        (20, {"room": Bounds(cores=3)}, 18, {"vtlp": 1, "room": 5}),  # two cores are too few for a room
    ],
    ids=["alike", "unlike"],
)
def test_replicas_that_do_not_come_are_asked_for_no_more(cores, bounds, given, left):
    cluster = Cluster(cores, **bounds)
    assert cluster.run(2 * EVERY_S).replicas == NEEDED
    decision = cluster.run(ARRIVAL_S + 2 * EVERY_S)
    assert decision.replicas == cluster.running == left
    assert decision.predicted == pytest.approx(10 * left["room"])
    assert f"the cluster gave stages {given} cores" in decision.limits[-1]
    assert "did not come in 60 s; add nodes" in decision.limits[-1]
    assert cluster.run(RETRY_S / 2).replicas == left


def test_it_is_tried_again_and_new_nodes_are_used():
    cluster = Cluster(cores=8)
    cluster.run(ARRIVAL_S + 4 * EVERY_S)
    cluster.run(RETRY_S)
    assert cluster.told == NEEDED
    cluster.run(ARRIVAL_S)
    assert cluster.told == {"vtlp": 2, "room": 6}
    cluster.cores = 100
    decision = cluster.run(RETRY_S + ARRIVAL_S)
    assert (cluster.running, decision.limits) == (NEEDED, ())


def test_what_bounds_keep_small_is_not_laid_to_the_cluster():
    cluster = Cluster(cores=8, room=Bounds(most=4))
    cluster.told = {"vtlp": 8, "room": 4}
    decision = cluster.run(ARRIVAL_S + 4 * EVERY_S)
    assert decision.replicas == cluster.running == {"vtlp": 1, "room": 4}
    (limit,) = decision.limits
    assert limit.startswith("room: 13 replicas are needed, 4 allowed")


def test_patience_begins_anew_once_somebody_can_look_again():
    cluster = Cluster(cores=8)
    cluster.run(4 * EVERY_S)
    cluster.seen = False
    cluster.run(2 * ARRIVAL_S)
    cluster.seen = True
    assert cluster.run(ARRIVAL_S).replicas == NEEDED
    assert cluster.run(ARRIVAL_S).replicas != NEEDED


def note(supply, now_s, told, **there):
    supply.note(told, there, {"vtlp": 1.0, "room": 2.0}, now_s)
    return supply.cores


def test_a_stage_of_which_there_is_nothing_tells_nothing_about_cores():
    supply = Supply(patience_s=60, retry_s=300)
    told = {"vtlp": 4, "room": 1}
    assert {note(supply, now_s, told, vtlp=4, room=0) for now_s in range(0, 300, 5)} == {math.inf}
    assert note(supply, 300, {"vtlp": 4, "room": 2}, vtlp=4, room=1) == math.inf
    assert note(supply, 360, {"vtlp": 4, "room": 2}, vtlp=4, room=1) == 6


def test_pods_that_are_replaced_all_the_time_are_counted_at_their_best():
    supply = Supply(patience_s=60, retry_s=300)
    told = {"vtlp": 4, "room": 4}
    for now_s in range(0, 60, 5):
        note(supply, now_s, told, vtlp=2 + now_s % 2, room=4)
    assert note(supply, 60, told, vtlp=1, room=2) == 11


def test_a_pod_that_is_replaced_in_time_limits_nothing():
    supply = Supply(patience_s=60, retry_s=300)
    for now_s in range(0, 600, 5):
        there = 3 if now_s % 60 else 4
        supply.note({"room": 4}, {"room": there}, {"room": 1.0}, now_s)
        assert supply.cores == math.inf
