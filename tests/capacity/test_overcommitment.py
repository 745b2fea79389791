"""Simulated: the planner where replicas share scarce cores, wait for storage, or may use a part of a core."""

import math
from itertools import pairwise

import numpy as np
import pytest

from sonorant.capacity.measurements import Measurements
from sonorant.capacity.planner import Planner, PlannerSettings
from sonorant.capacity.scenario import StageModel, TrainerModel, Weather
from sonorant.capacity.simulation import Simulation
from sonorant.capacity.sizing import Bounds, StageCost, size

NAMES = ("reader", "room")
CPU_S = (0.002, 0.1)
MOST = 60


def simulated(stages, trainer, control, seconds, cores):
    def draw(rng, count):
        return rng.gamma(4, np.array(CPU_S) / 4, (count, 2))

    weather = Weather(start_s=3, cores=cores)
    simulation = Simulation(stages, trainer, draw, np.random.default_rng(1), weather)
    return simulation.run(seconds, 5, control)


def by_wall_time():
    """A planner that takes all busy time of a replica for work, as ours once did."""
    measurements = Measurements(window_s=30)

    def control(snapshot, told, now_s):
        measurements.note(snapshot, now_s)
        costs, demand = [measurements.cost(name) for name in NAMES], measurements.demand()
        if demand is None or None in costs:
            return told
        bounds = Bounds(most=MOST)
        chain = [StageCost(n, cost.busy_s, 1.0, bounds) for n, cost in zip(NAMES, costs, strict=True)]
        return size(chain, demand.rate, 0.8).replicas

    return control


def planned(**settings):
    bounds = {name: Bounds(most=MOST, cores=settings.pop(f"{name}_cores", 1.0)) for name in NAMES}
    planner = Planner(NAMES, PlannerSettings(bounds=bounds, **settings))
    return lambda snapshot, told, now_s: planner.decide(snapshot, told, now_s).replicas


FULL = TrainerModel(ranks=1, step_s=0.32)  # 100 examples a second: 10 cores of room, on a node that has 6


def grown(looks):
    """How often the room stage was given more replicas."""
    return sum(after.replicas["room"] > before.replicas["room"] for before, after in pairwise(looks))


def chain(**room):
    return [StageModel("reader"), StageModel("room", **room)]


def mean_t_session(looks):
    return np.mean([look.t_session for look in looks])


def test_on_an_overcommitted_node_wall_time_runs_away_and_cpu_time_does_not():
    by_wall = simulated(chain(), FULL, by_wall_time(), 1000, cores=6)
    by_cpu = simulated(chain(), FULL, planned(), 1000, cores=6)
    assert by_wall[-1].replicas["room"] == MOST
    needed = math.ceil(100 * 0.1 / 0.8)
    assert max(look.replicas["room"] for look in by_cpu[:60]) <= needed + 1
    assert mean_t_session(by_cpu[-20:]) == pytest.approx(mean_t_session(by_wall[-20:]), abs=0.05)
    assert mean_t_session(by_cpu[-20:]) < 0.7


def test_a_try_that_brought_nothing_is_taken_back_and_not_repeated_for_a_while():
    """After five minutes a wait for cores may be one for storage as well: whether more replicas help is tried once."""
    looks = simulated(chain(), FULL, planned(), 1000, cores=6)
    begin = looks[20].replicas["room"]
    assert grown(looks[20:]) == 1
    assert max(look.replicas["room"] for look in looks) <= 1.6 * begin
    assert looks[-1].replicas["room"] == begin


def test_replicas_that_wait_for_storage_are_as_many_as_their_waits_need():
    looks = simulated(chain(waits_s=0.4), FULL, planned(), 150, cores=math.inf)
    assert looks[-1].replicas["room"] == pytest.approx(100 * 0.5 / 0.8, abs=3)
    assert mean_t_session(looks[-4:]) > 0.98


def test_replicas_that_may_use_a_part_of_a_core_are_as_many_as_that_needs():
    looks = simulated(chain(granted=0.25), FULL, planned(room_cores=0.25), 150, cores=math.inf)
    assert looks[-1].replicas["room"] == pytest.approx(100 * 0.1 / 0.25 / 0.8, abs=3)
    assert mean_t_session(looks[-4:]) > 0.98


def test_two_decisions_feed_a_trainer_whose_replicas_have_a_part_of_a_core_on_a_node_that_suffices():
    """As a real node had it: t_session 0.40 to 0.95."""
    slow = TrainerModel(ranks=2, step_s=64 / 20, batch=32)  # 20 examples a second
    bounds = {"room": Bounds(most=MOST, cores=0.15)}
    planner, control = Planner(NAMES, PlannerSettings(bounds=bounds)), []

    def decide(snapshot, told, now_s):
        control.append(planner.decide(snapshot, told, now_s).replicas)
        return control[-1]

    looks = simulated(chain(replicas=5, granted=0.15), slow, decide, 120, cores=4)
    assert mean_t_session(looks[2:4]) < 0.5
    assert mean_t_session(looks[-6:]) > 0.94
    assert 1 <= grown(looks) <= 2
