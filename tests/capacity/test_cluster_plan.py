import numpy as np
import pytest

from sonorant.capacity.cluster_plan import plan_cluster, rehearse
from sonorant.capacity.control_plane import LINK_BYTES_PER_S, MOST_LINKS, OVERHEAD_S, control_plane
from sonorant.capacity.service_times import BadMeasurement, ServiceTimes, StageTimes, StepTime, Utterances
from sonorant.recipe.schema import Recipe

SECONDS = {"shard_reader": 0.002, "vtlp": 0.01, "room": 0.05, "featurizer": 0.004}
LINKED_S = 2 * 200_000 / LINK_BYTES_PER_S  # of an example that comes and goes


def _recipe(layout="split"):
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "tiny",
            "corpus": {"reader": "fsdd", "path": "none"},
            "stages": [{"stage": "vtlp", "alpha": {"low": 0.9, "high": 1.1}}],
            "pipeline": {"layout": layout},
        }
    )


def _times(step_s=0.4, bytes_out=200_000.0):
    stages = (StageTimes(stage=n, seconds=(0.5 * s, s, 1.5 * s), bytes_out=bytes_out) for n, s in SECONDS.items())
    step = None if step_s is None else StepTime(seconds=step_s, examples=32, source="given")
    utterances = Utterances(source="here", seconds=9.0, stored_bytes=100_000, vectors=200)
    return ServiceTimes(recipe="tiny", utterances=utterances, stages=tuple(stages), memory_mb=100, step=step)


def _plan(gpus, layout="split", cores=float("inf"), **times):
    return plan_cluster(_recipe(layout), _times(**times), gpus, 1000, 0.8, cores)


def test_a_plan_says_what_each_stage_needs():
    plan = _plan(8)
    assert plan.demand == plan.rate == 8 * 32 / 0.4
    costs = {name: seconds + OVERHEAD_S + LINKED_S for name, seconds in SECONDS.items()}
    costs["shard_reader"] -= LINKED_S / 2  # what it takes comes from a file
    needed = {name: 640 * cost / 0.8 for name, cost in costs.items()}
    assert {stage.stage: stage.replicas for stage in plan.stages} == {n: int(np.ceil(c)) for n, c in needed.items()}
    room = plan.stages[2]
    assert room.utilisation == pytest.approx(640 * costs[room.stage] / room.replicas)
    assert room.in_mb_s == room.out_mb_s == pytest.approx(640 * 0.2)
    assert room.links == plan.stages[1].replicas
    assert plan.stages[0].in_mb_s == pytest.approx(64)
    assert plan.trainer.in_mb_s == pytest.approx(128)
    assert plan.epoch_hours == pytest.approx(1000 * 3600 / 9 / 640 / 3600)
    assert plan.control.claims_per_s == 640
    assert not plan.limits


def test_one_process_for_the_chain_costs_the_sum_and_one_overhead():
    (server,) = _plan(8, layout="fused").stages
    assert server.stage == "example_server"
    assert server.service_s == pytest.approx(sum(SECONDS.values()) + OVERHEAD_S + LINKED_S / 2)
    assert (server.in_mb_s, server.out_mb_s) == (64, 128)


def test_one_thread_receives_computes_and_sends_so_the_costs_add_up():
    plan = _plan(1, bytes_out=5e6)
    assert plan.stages[1].service_s == pytest.approx(0.01 + OVERHEAD_S + 1e7 / LINK_BYTES_PER_S)
    assert plan.stages[2].service_s == pytest.approx(0.05 + OVERHEAD_S + 1e7 / LINK_BYTES_PER_S)


@pytest.mark.parametrize("layout", ["split", "fused"])
def test_what_running_replicas_measured_holds_receiving_and_sending_already(layout):
    times = _times(bytes_out=5e6).scaled(dict.fromkeys(SECONDS, 0.02))
    stages = plan_cluster(_recipe(layout), times, 1, 1000, 0.8, float("inf")).stages
    assert sum(stage.service_s for stage in stages) == pytest.approx(4 * 0.02)


def test_a_rank_takes_no_more_than_its_links_bring():
    plan = _plan(4, step_s=0.1, bytes_out=2e7)
    assert plan.rate == pytest.approx(4 * LINK_BYTES_PER_S / 2e7)
    assert "trainer: a rank takes 320 examples/s, its links bring 125" in plan.limits


def test_more_cores_than_there_are_are_said_to_be_missing():
    plan = _plan(64, cores=100)
    assert plan.cores <= 100
    assert plan.rate < plan.demand
    assert any("cores are needed, 100 allowed" in limit for limit in plan.limits)


def test_the_coordinator_saturates_first_and_the_stages_are_no_larger_than_that():
    plan = _plan(1024, step_s=0.25)
    beats = plan.control.heartbeats_per_s / 2200
    assert plan.rate == pytest.approx((1 - beats) / (1 / 44_000 + 1 / 120_000), rel=0.01)
    assert plan.control.coordinator_cores == pytest.approx(1.0, rel=0.01)
    assert any(limit.startswith("coordinator:") for limit in plan.limits)
    assert plan.cores < 1.1 * plan.rate * sum(s + OVERHEAD_S + LINKED_S for s in SECONDS.values()) + 4


def test_more_links_than_a_process_has_files_for_are_named():
    times = _times().scaled({"room": 2.0})
    plan = plan_cluster(_recipe(), times, 256, 1000, 0.8, float("inf"))
    assert plan.stages[2].replicas > MOST_LINKS
    (limit,) = (limit for limit in plan.limits if "links" in limit)
    rooms = plan.stages[2].replicas
    said = f"featurizer: each replica has links to {rooms} replicas of the stage before; {MOST_LINKS} are possible"
    assert limit == said


def test_a_plan_needs_the_time_of_a_step():
    with pytest.raises(BadMeasurement, match="step"):
        _plan(8, step_s=None)


@pytest.mark.parametrize("layout", ["split", "fused"])
def test_a_rehearsal_confirms_a_plan_that_meets_the_demand(layout):
    plan = _plan(8, layout=layout)
    seen = rehearse(_recipe(layout), _times(), plan, np.random.default_rng(1))
    assert seen.rate == pytest.approx(plan.demand, rel=0.02)
    assert seen.t_session > 0.98
    for stage in plan.stages:
        assert seen.utilisation[stage.stage] == pytest.approx(stage.utilisation, abs=0.15)


def test_a_rehearsal_finds_the_rate_of_a_plan_that_does_not():
    plan = _plan(8, cores=20)
    seen = rehearse(_recipe(), _times(), plan, np.random.default_rng(1))
    assert seen.rate == pytest.approx(plan.rate, rel=0.1)


def test_heartbeats_grow_rarer_with_the_fleet():
    few, many = control_plane(100, 100, 0.5, 1e6), control_plane(100, 10_000, 0.5, 1e8)
    assert (few.heartbeat_s, few.heartbeats_per_s) == (0.5, 200)
    assert (many.heartbeat_s, many.heartbeats_per_s) == (10, 1000)
    assert many.redis_mb - few.redis_mb == pytest.approx(27.7, abs=0.1)
