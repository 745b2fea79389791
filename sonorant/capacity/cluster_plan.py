"""A cluster for so many GPUs and so much speech: its pods, cores, memory, network, and control plane's load."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sonorant.capacity.control_plane import LINK_BYTES_PER_S, MOST_LINKS, OVERHEAD_S, ControlPlane, control_plane
from sonorant.capacity.scenario import Moment, StageModel, TrainerModel
from sonorant.capacity.service_times import BadMeasurement, ServiceTimes, StepTime, drawing
from sonorant.capacity.simulation import Simulation
from sonorant.capacity.sizing import Sizing, StageCost, figure, size
from sonorant.recipe.schema import Recipe

__all__ = ["ClusterPlan", "RankPlan", "StagePlan", "plan_cluster", "rehearse"]

FUSED = "example_server"
_BUSY_ENOUGH = 0.5  # share of its core from which on a part of the control plane is simulated too
_FEWEST_ROUNDS, _SEEN_ROUNDS, _MOST_ROUNDS = 3, 12, 60  # a round is a batch of each rank
_STILL = 0.03  # of a round: queues and pools grow no more
_MOST_EXAMPLES = 100_000  # before the measurement, and during it


@dataclass(frozen=True)
class StagePlan:
    """One stage: an example's cost, the replicas, and their resources.

    service_s: seconds of a core, overhead included; bytes are of an example, megabytes per second of all replicas.
    """

    stage: str
    service_s: float
    replicas: int
    utilisation: float
    cores: float
    memory_gb: float
    in_mb_s: float
    out_mb_s: float
    links: int  # to replicas of the stage before, of each replica


@dataclass(frozen=True)
class RankPlan:
    """The trainer's ranks, a GPU each: the demand of one, and the supply to all."""

    ranks: int
    step: StepTime
    in_mb_s: float
    links: int  # of each rank, to replicas of the last stage

    @property
    def examples_per_s(self) -> float:
        """Of one rank that never waits."""
        return self.step.examples / self.step.seconds


@dataclass(frozen=True)
class ClusterPlan:
    """The plan that `sonorant plan` prints.

    demand: examples per second of ranks that never wait; rate: supplied; audio_hours_per_s and epoch_hours follow from
    it; limits: why the rate is below the demand, or the plan will not work.
    """

    hours: float
    demand: float
    rate: float
    audio_hours_per_s: float
    epoch_hours: float
    stages: tuple[StagePlan, ...]
    trainer: RankPlan
    control: ControlPlane
    limits: tuple[str, ...]

    @property
    def cores(self) -> float:
        """Of all stages; ranks and control plane come beside them."""
        return sum(stage.cores for stage in self.stages)


@dataclass(frozen=True)
class _Link:
    """A stage of the recipe's layout: name, Float64[utterances] seconds, and bytes of an example before and after.

    reads: whether its input is a file, whose reading is among the seconds.
    """

    stage: str
    seconds: np.ndarray[tuple[int], np.dtype[np.float64]]
    bytes_in: float
    bytes_out: float
    reads: bool = False
    whole: bool = False  # the seconds were measured on a replica that runs, receiving and sending included

    @property
    def service_s(self) -> float:
        """Of a replica, whose one thread receives, computes and sends, one after the other."""
        if self.whole:
            return float(self.seconds.mean())
        linked_bytes = self.bytes_out + (0.0 if self.reads else self.bytes_in)
        return float(self.seconds.mean()) + OVERHEAD_S + linked_bytes / LINK_BYTES_PER_S


def plan_cluster(
    recipe: Recipe, times: ServiceTimes, gpus: int, hours: float, utilisation: float, cores: float
) -> ClusterPlan:
    """Return the plan for `gpus` ranks and `hours` of speech; `cores`: that all stages together may take."""
    chain, step = _chain(recipe, times), times.step
    if step is None:
        raise BadMeasurement("step: no time of a training step is known; measure one, or give it")
    demand = gpus * step.examples / step.seconds
    examples = hours * 3600 / times.utterances.seconds
    sizing, control = _fix_point(recipe, chain, demand, gpus, examples, utilisation, cores)
    rate = min(sizing.rate, gpus * LINK_BYTES_PER_S / chain[-1].bytes_out)
    stages = _stage_plans(recipe, chain, sizing, rate, times.memory_mb)
    trainer = RankPlan(gpus, step, rate * chain[-1].bytes_out / 1e6, links=stages[-1].replicas)
    audio_hours_per_s = rate * times.utterances.seconds / 3600
    return ClusterPlan(
        hours=hours,
        demand=demand,
        rate=rate,
        audio_hours_per_s=audio_hours_per_s,
        epoch_hours=hours / audio_hours_per_s / 3600,
        stages=stages,
        trainer=trainer,
        control=control,
        limits=(*sizing.limits, *_link_limits(stages, trainer, chain[-1].bytes_out)),
    )


def rehearse(recipe: Recipe, times: ServiceTimes, plan: ClusterPlan, rng: np.random.Generator) -> Moment:
    """Simulate the plan's cluster, and return the figures of the last batches of each rank.

    Stages begin empty and pools, which are small, half full, so that a shortage shows at once; else the measurement
    begins once they are full. Coordinator and Redis are stages of one replica, if they are loaded.
    """
    chain, step, ranks = _chain(recipe, times), plan.trainer.step, plan.trainer.ranks
    credits = recipe.pipeline.credits
    parts = [
        (StageModel(stage.stage, stage.replicas, credits), link.seconds + (link.service_s - link.seconds.mean()))
        for stage, link in zip(plan.stages, chain, strict=True)
    ]
    coordinator, redis = (
        (StageModel(cost.stage, 1, 32 * credits), np.full(len(chain[0].seconds), cost.service_s))
        for cost in plan.control.costs()
    )
    parts = [coordinator] * (plan.control.coordinator_cores > _BUSY_ENOUGH) + parts
    parts += [redis] * (plan.control.redis_cores > _BUSY_ENOUGH)
    trainer = TrainerModel(
        ranks, step.seconds, step.examples, pool=4 * step.examples, enough=2 * step.examples, filled=2 * step.examples
    )
    simulation = Simulation([model for model, _ in parts], trainer, drawing(np.stack([s for _, s in parts], 1)), rng)
    of_round, round_s = ranks * step.examples, ranks * step.examples / plan.rate
    simulation.run(round_s / 2)  # so that no measurement falls on the end of a step
    stored = -math.inf
    for _ in range(max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, _MOST_EXAMPLES // of_round))):
        simulation.run(simulation.now_s + round_s)
        before, stored = stored, simulation.under_way()
        if stored - before < _STILL * of_round:
            break
    seen = max(_FEWEST_ROUNDS, min(_SEEN_ROUNDS, _MOST_EXAMPLES // of_round))
    return simulation.run(simulation.now_s + seen * round_s)[-1]


def _link_limits(stages: Sequence[StagePlan], trainer: RankPlan, bytes_out: float) -> Iterator[str]:
    """Yield the links' limits that are exceeded: a rank's one thread, and a process' sockets."""
    if trainer.examples_per_s > (most := LINK_BYTES_PER_S / bytes_out):
        yield f"trainer: a rank takes {figure(trainer.examples_per_s)} examples/s, its links bring {figure(most)}"
    for name, links in (*((stage.stage, stage.links) for stage in stages), ("trainer", trainer.links)):
        if links > MOST_LINKS:
            yield f"{name}: each replica has links to {links} replicas of the stage before; {MOST_LINKS} are possible"


def _chain(recipe: Recipe, times: ServiceTimes) -> list[_Link]:
    """Return the stages as the layout deploys them."""
    links: list[_Link] = []
    before = times.utterances.stored_bytes
    for stage in times.stages:
        links.append(_Link(stage.stage, np.array(stage.seconds), before, stage.bytes_out, not links, stage.whole))
        before = stage.bytes_out
    if recipe.pipeline.layout == "split":
        return links
    total = np.sum([link.seconds for link in links], axis=0)
    return [_Link(FUSED, total, links[0].bytes_in, links[-1].bytes_out, True, all(link.whole for link in links))]


def _fix_point(
    recipe: Recipe,
    chain: Sequence[_Link],
    demand: float,
    ranks: int,
    examples: float,
    utilisation: float,
    cores: float,
) -> tuple[Sizing, ControlPlane]:
    """Size stages together with the control plane, whose heartbeats depend on the number of replicas."""
    heartbeat_s = recipe.pipeline.heartbeat_s
    control = control_plane(demand, ranks, heartbeat_s, examples)
    costs = [StageCost(link.stage, link.service_s) for link in chain]
    for _ in range(3):
        coordinator, redis = control.costs()
        sizing = size([coordinator, *costs, redis], demand, utilisation, cores)
        replicas = sum(sizing.replicas.values()) - 2 + ranks
        control = control_plane(sizing.rate, replicas, heartbeat_s, examples)
    return sizing, control


def _stage_plans(
    recipe: Recipe, chain: Sequence[_Link], sizing: Sizing, rate: float, memory_mb: float
) -> tuple[StagePlan, ...]:
    plans, before = [], 0
    for link in chain:
        count = sizing.replicas[link.stage]
        held_mb = recipe.pipeline.credits * (link.bytes_in + 2 * link.bytes_out) / 1e6
        plans.append(
            StagePlan(
                stage=link.stage,
                service_s=link.service_s,
                replicas=count,
                utilisation=rate * link.service_s / count,
                cores=float(count),
                memory_gb=count * (memory_mb + held_mb) / 1e3,
                in_mb_s=rate * link.bytes_in / 1e6,
                out_mb_s=rate * link.bytes_out / 1e6,
                links=before,
            )
        )
        before = count
    return tuple(plans)
