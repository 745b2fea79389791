"""The simulation beside what queueing theory knows in closed form."""

from itertools import pairwise
from math import factorial

import numpy as np
import pytest

from sonorant.capacity.planner import Planner, PlannerSettings
from sonorant.capacity.scenario import StageModel, TrainerModel, Weather
from sonorant.capacity.simulation import Simulation

SINK = TrainerModel(ranks=1, step_s=0.0, batch=1, pool=1000, enough=1)
NAMES = ("reader", "vtlp", "room", "featurizer")
SERVICE_S = (0.002, 0.02, 0.1, 0.004)


def _fixed(*service_s):
    return lambda rng, count: np.tile(service_s, (count, 1))


def _exponential(*means_s):
    return lambda rng, count: rng.exponential(means_s, (count, len(means_s)))


def _gamma(*means_s, shape=4):
    return lambda rng, count: rng.gamma(shape, np.array(means_s) / shape, (count, len(means_s)))


def _simulation(stages, trainer, draw, weather=None, seed=1):
    return Simulation(stages, trainer, draw, np.random.default_rng(seed), weather)


def _chain(*replicas, credits=16):
    return [StageModel(name, count, credits) for name, count in zip(NAMES, replicas, strict=True)]


@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (3, 0.7)])
def test_one_queue_before_exponential_servers_waits_as_long_as_erlang_says(servers, load):
    """M/M/c: a source with exponential gaps is a Poisson process, and one credit a server makes one common queue."""
    arrivals, offered = load * servers, load * servers
    stages = [StageModel("source", 1, 5000), StageModel("work", servers, 1)]
    simulation = _simulation(stages, SINK, _exponential(1 / arrivals, 1.0))
    (look,) = simulation.run(50_000 / arrivals)
    full = offered**servers / factorial(servers) * servers / (servers - offered)
    wait = full / (sum(offered**k / factorial(k) for k in range(servers)) + full)
    assert simulation.waits_s()["work"] == pytest.approx(wait / (servers - offered), rel=0.06)
    assert look.utilisation["work"] == pytest.approx(load, rel=0.03)
    assert look.rate == pytest.approx(arrivals, rel=0.02)


def test_nothing_waits_where_nothing_varies_and_servers_suffice():
    """D/D/c."""
    simulation = _simulation([StageModel("source", 1, 50), StageModel("work", 3, 1)], SINK, _fixed(1.0, 2.9))
    (look,) = simulation.run(1000)
    assert simulation.waits_s()["work"] == pytest.approx(0.0, abs=1e-9)
    assert look.rate == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("draw", [_fixed, _gamma])
@pytest.mark.parametrize("replicas", [(1, 1, 3, 1), (1, 2, 20, 1)])
def test_the_slowest_stage_sets_the_rate(draw, replicas):
    """Bottleneck law: X = min over stages of replicas / service time; and utilisation X x service time / replicas."""
    simulation = _simulation(_chain(*replicas), TrainerModel(1, 1e-3), draw(*SERVICE_S))
    simulation.run(20)
    (look,) = simulation.run(220)
    expected = min(count / service_s for count, service_s in zip(replicas, SERVICE_S, strict=True))
    assert look.rate == pytest.approx(expected, rel=0.04)
    for name, count, service_s in zip(NAMES, replicas, SERVICE_S, strict=True):
        assert look.utilisation[name] == pytest.approx(expected * service_s / count, rel=0.06)


def test_what_is_inside_is_the_rate_times_how_long_it_stays():
    """Little's law, of the last stage alone: of 16 slots taken all the time, each example stays 16 / X."""
    simulation = _simulation([StageModel("source", 4, 16), StageModel("work", 1, 16)], SINK, _exponential(0.01, 0.1))
    simulation.run(50)
    begun_s, before = simulation.waits_s()["work"], simulation.snapshot()
    (look,) = simulation.run(850)
    waiting = 16 * 4 + 15  # all slots of the source, and those of the stage that are not being computed
    assert simulation.held() == {"source": 64, "work": 16}
    assert simulation.waits_s()["work"] == pytest.approx(waiting / look.rate, rel=0.1)
    assert before.stages["work"].keys() == {"work-4"}
    assert begun_s > 0


def test_no_replica_holds_more_than_its_credits():
    simulation = _simulation(_chain(2, 2, 2, 2, credits=3), TrainerModel(1, 1e6), _gamma(*SERVICE_S))
    simulation.run(100)
    assert simulation.held() == dict.fromkeys(NAMES, 6)
    assert simulation.gang.wanted == 0


def test_a_fed_trainer_never_waits_and_takes_its_batches_in_step():
    simulation = _simulation(_chain(2, 8, 40, 2), TrainerModel(ranks=4, step_s=0.5), _gamma(*SERVICE_S))
    simulation.run(20)
    (look,) = simulation.run(80)
    assert look.rate == pytest.approx(4 * 32 / 0.5, rel=0.02)
    assert look.t_session == pytest.approx(1.0, abs=1e-3)


def test_one_starved_trainer_is_in_its_step_for_the_share_that_it_is_fed():
    simulation = _simulation(_chain(1, 2, 4, 1), TrainerModel(ranks=1, step_s=0.4), _fixed(*SERVICE_S))
    simulation.run(40)
    (look,) = simulation.run(440)
    assert look.rate == pytest.approx(40, rel=0.03)
    assert look.t_session == pytest.approx(40 / (32 / 0.4), rel=0.03)


def test_a_death_loses_what_the_replica_held_and_another_takes_its_place():
    simulation = _simulation(_chain(1, 1, 2, 1), TrainerModel(1, 1e6), _fixed(*SERVICE_S), Weather(start_s=5))
    simulation.run(60)
    simulation.kill("room")
    assert simulation.lost() == 16
    (look,) = simulation.run(64)
    assert look.working["room"] == 1
    (look,) = simulation.run(80)
    assert look.working["room"] == 2
    assert simulation.held()["room"] == 32


@pytest.mark.parametrize("end", ["kill", "tell"])
def test_who_has_gone_gets_nothing_that_it_had_asked_for(end):
    draw = _fixed(0.1, 0.001, 0.001, 0.001)  # so that all others ask
    simulation = _simulation(
        _chain(1, 1, 2, 1), TrainerModel(1, 1e-3, pool=300, enough=299), draw, Weather(start_s=1e6)
    )
    simulation.run(20)
    before = simulation.gang.wanted
    simulation.kill("room") if end == "kill" else simulation.set_replicas("room", 1)
    (look,) = simulation.run(22)
    assert look.working["room"] == 1
    assert before - simulation.gang.wanted == pytest.approx(20, abs=1)


def test_a_drained_replica_hands_on_what_it_holds():
    simulation = _simulation(_chain(1, 1, 4, 1), TrainerModel(1, 0.01), _fixed(*SERVICE_S))
    simulation.run(20)
    simulation.set_replicas("room", 1)
    (look,) = simulation.run(60)
    assert look.working["room"] == 1
    assert simulation.lost() == 0
    (look,) = simulation.run(120)
    assert look.rate == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize(("ranks", "begin"), [(2, (1, 2, 4, 1)), (6, (1, 4, 30, 1))])
def test_the_planner_feeds_a_starved_trainer_within_three_decisions(ranks, begin):
    trainer = TrainerModel(ranks, step_s=0.5)
    simulation = _simulation(_chain(*begin), trainer, _gamma(*SERVICE_S), Weather(start_s=3))
    planner = Planner(NAMES, PlannerSettings())
    looks = simulation.run(60, 5, lambda s, told, now_s: planner.decide(s, told, now_s).replicas)
    changes = [look.at_s for a, look in pairwise(looks) if a.replicas != look.replicas]
    assert 1 <= len(changes) <= 3
    assert looks[0].t_session < 0.6
    assert np.mean([look.t_session for look in looks[-4:]]) > 0.98
    needed = [ranks * 32 / 0.5 * service_s / 0.8 for service_s in SERVICE_S]
    for name, busy in zip(NAMES, needed, strict=True):
        assert busy <= looks[-1].replicas[name] <= 1.6 * busy + 1


def test_the_planner_gives_back_what_a_slower_trainer_does_not_need():
    simulation = _simulation(_chain(2, 8, 60, 2), TrainerModel(1, step_s=0.5), _gamma(*SERVICE_S))
    planner = Planner(NAMES, PlannerSettings(stabilisation_s=20))
    looks = simulation.run(60, 5, lambda s, told, now_s: planner.decide(s, told, now_s).replicas)
    assert looks[-1].replicas == {"reader": 1, "vtlp": 2, "room": 9, "featurizer": 1}
    assert looks[-1].t_session == pytest.approx(1.0, abs=0.01)
    assert simulation.lost() == 0
