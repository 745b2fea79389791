"""From measurements to replicas: up at once, down slowly, and hold without a measurement."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sonorant.capacity.contention import Contention
from sonorant.capacity.measurements import Demand, Measurements, Snapshot
from sonorant.capacity.returns import Returns
from sonorant.capacity.sizing import Bounds, Sizing, StageCost, figure, size
from sonorant.capacity.supply import Supply

__all__ = ["Decision", "Planner", "PlannerSettings"]

_MOST_CATCH_UP = 0.5  # of the demand: empty pools of a slow trainer do not justify a whole cluster


@dataclass(frozen=True)
class PlannerSettings:
    """The planner's settings.

    utilisation: greatest busy share of a stage; cores: limit for all stages together;
    window_s: of measurements; settle_s: pause between two scale-ups; catch_up_s: time in which to refill the
    trainer's pools; stabilisation_s: time for which fewer replicas must have sufficed before a scale-down; hysteresis:
    growth of the demand for which a scale-down must leave enough; arrival_s: time in which requested replicas start if
    the cluster has capacity, on a new node if need be; retry_s: time until capacity is tested again.
    """

    utilisation: float = 0.8
    cores: float = math.inf
    window_s: float = 30.0
    settle_s: float = 20.0
    catch_up_s: float = 60.0
    stabilisation_s: float = 120.0
    hysteresis: float = 0.1
    arrival_s: float = 300.0
    retry_s: float = 900.0
    bounds: Mapping[str, Bounds] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """Replicas by stage, with reasons.

    held: why nothing changes, empty if replicas were sized; demand: of the trainer; predicted: examples per second that
    it will get; service_s: measured, by stage; limits: why the trainer will get less than its demand.
    """

    replicas: Mapping[str, int]
    held: str = ""
    demand: Demand | None = None
    predicted: float | None = None
    service_s: Mapping[str, float] = field(default_factory=dict)
    limits: tuple[str, ...] = ()


class Planner:
    """Decides about the `stages` of a chain, in the order in which an example passes them."""

    def __init__(self, stages: Sequence[str], settings: PlannerSettings) -> None:
        self._stages = tuple(stages)
        self._settings = settings
        self._measurements = Measurements(settings.window_s)
        self._raised: Mapping[str, int] = {}
        self._raised_s = -math.inf
        self._supply = Supply(settings.arrival_s, settings.retry_s)
        self._contention = Contention(settings.arrival_s)
        self._returns = Returns(settings.settle_s, settings.hysteresis, settings.retry_s)
        self._enough: deque[tuple[float, Mapping[str, int]]] = deque()  # sizings within `stabilisation_s`
        self._complete_s: float | None = None  # when all stages were last present, or none

    def decide(self, snapshot: Snapshot | None, replicas: Mapping[str, int], now_s: float) -> Decision:
        """Return how many replicas each stage is to have.

        snapshot: None if unavailable; replicas: desired now, by stage; `now_s` is monotonic.
        """
        return self._paced(self._wanted(snapshot, replicas, now_s), replicas, now_s)

    def _wanted(self, snapshot: Snapshot | None, replicas: Mapping[str, int], now_s: float) -> Decision:
        if snapshot is None:
            self._supply.begin_anew()
            self._complete_s = None
            return self._hold("no measurements", replicas, now_s)
        self._measurements.note(snapshot, now_s)
        there = {stage: len(snapshot.stages.get(stage, ())) for stage in self._stages}
        self._supply.note(replicas, there, {stage: self._bounds(stage).cores for stage in self._stages}, now_s)
        squeezed = self._squeezed(there, now_s)
        if snapshot.finished:
            self._returns.begin_anew()
            return self._rest(replicas, now_s)
        if squeezed:
            return self._yield_cores(squeezed, now_s)
        costs = self._costs(now_s)
        if isinstance(costs, str):
            return self._hold(costs, replicas, now_s)
        catch_up = snapshot.wanted / self._settings.catch_up_s
        demand = self._measurements.demand()
        if demand is None:
            return self._first_fill(costs, catch_up, replicas, now_s)
        self._returns.judge(replicas, there, self._measurements, now_s)
        rate = demand.rate + min(catch_up, _MOST_CATCH_UP * demand.rate)
        sizings = (self._size(costs, rate), self._size(costs, rate * (1 + self._settings.hysteresis)))
        up, spare = (self._worthwhile(sizing, replicas, demand) for sizing in sizings)
        self._remember(self._recommend(up, spare, replicas), now_s)
        return self._decision(costs, up, demand, replicas)

    def _paced(self, wanted: Decision, now: Mapping[str, int], now_s: float) -> Decision:
        """Scale up once per `settle_s`: most of the window predates the last requested replicas."""
        if all(count <= now[stage] for stage, count in wanted.replicas.items()):
            return wanted
        if now_s < self._raised_s + self._settings.settle_s:
            asked = {stage: max(count, self._raised.get(stage, 0)) for stage, count in now.items()}
            return replace(wanted, replicas={s: min(count, asked[s]) for s, count in wanted.replicas.items()})
        self._raised, self._raised_s = wanted.replicas, now_s
        for stage, count in wanted.replicas.items():
            if count > now[stage]:
                self._returns.asked(stage, now[stage], count, self._measurements.rate(stage))
        return wanted

    def _hold(self, why: str, replicas: Mapping[str, int], now_s: float) -> Decision:
        held = {stage: replicas[stage] for stage in self._stages}
        self._remember(held, now_s)
        return Decision(held, held=why)

    def _squeezed(self, there: Mapping[str, int], now_s: float) -> str:
        """Return a stage without any replica after `arrival_s`, though others have some; empty: there is none."""
        missing = [stage for stage in self._stages if not there[stage]]
        if len(missing) in (0, len(self._stages)) or self._complete_s is None:
            self._complete_s = now_s
            return ""
        return missing[0] if now_s >= self._complete_s + self._settings.arrival_s else ""

    def _yield_cores(self, squeezed: str, now_s: float) -> Decision:
        """Scale to the fewest: without one stage no example passes, and it may wait for the others' cores."""
        arrival_s = figure(self._settings.arrival_s)
        return Decision(
            self._least(now_s), held=f"{squeezed}: none of it came in {arrival_s} s, so the others yield cores"
        )

    def _rest(self, now: Mapping[str, int], now_s: float) -> Decision:
        """Scale to the fewest: training is complete."""
        return Decision(self._kept(self._least(now_s), now), demand=Demand(0.0, 0.0), predicted=0.0)

    def _least(self, now_s: float) -> dict[str, int]:
        least = {stage: self._bounds(stage).least for stage in self._stages}
        self._remember(least, now_s)
        return least

    def _first_fill(
        self, costs: Sequence[StageCost], rate: float, replicas: Mapping[str, int], now_s: float
    ) -> Decision:
        """Hold until the trainer has made a step, but fill its pools first."""
        held = self._hold("the trainer: no step in the last while", replicas, now_s)
        filling = self._size(costs, rate) if rate else None
        if filling is None:
            return held
        more = {stage: max(count, filling.replicas[stage]) for stage, count in held.replicas.items()}
        return replace(held, replicas=more, limits=filling.limits)

    def _costs(self, now_s: float) -> list[StageCost] | str:
        """Return the stages' costs, or the name of a missing one."""
        costs = []
        for stage in self._stages:
            cost, bounds = self._measurements.cost(stage), self._bounds(stage)
            if cost is None:
                return f"{stage}: no example in the last {self._settings.window_s:g} s"
            self._contention.note(stage, cost, now_s)
            service_s = self._contention.service_s(stage, cost, bounds.cores)
            costs.append(StageCost(stage, service_s, self._measurements.output_ratio(stage), bounds))
        return costs

    def _bounds(self, stage: str) -> Bounds:
        return self._settings.bounds.get(stage, Bounds())

    @property
    def _cores(self) -> float:
        return min(self._settings.cores, self._supply.cores)

    def _size(self, costs: Sequence[StageCost], rate: float) -> Sizing:
        allowed = size(costs, rate, self._settings.utilisation, self._settings.cores)
        sizing = size(costs, rate, self._settings.utilisation, self._cores)
        if sizing == allowed:
            return sizing
        why = (
            f"the cluster gave stages {figure(self._supply.cores)} cores: more replicas were asked for and did not "
            f"come in {self._settings.arrival_s:g} s; add nodes, or look at what the pods wait for"
        )
        return replace(sizing, limits=(*sizing.limits, why))

    def _worthwhile(self, sizing: Sizing, now: Mapping[str, int], demand: Demand) -> Sizing:
        """Return a sizing without replicas that raise no rate, or are not judged yet."""
        most = {stage: self._returns.most(stage, now[stage]) for stage in self._stages}
        over = [stage for stage, (limit, _) in most.items() if limit is not None and sizing.replicas[stage] > limit]
        limits = tuple(most[stage][1] for stage in over if most[stage][1])
        replicas = {s: most[s][0] or count if s in over else count for s, count in sizing.replicas.items()}
        rate = min(sizing.rate, demand.observed) if limits else sizing.rate
        return Sizing(replicas, rate, (*sizing.limits, *limits))

    def _recommend(self, up: Sizing, spare: Sizing, now: Mapping[str, int]) -> dict[str, int]:
        """Return the needed replicas, and of present ones above that as many as make the next change unlikely."""
        return {stage: max(needed, min(now[stage], spare.replicas[stage])) for stage, needed in up.replicas.items()}

    def _remember(self, replicas: Mapping[str, int], now_s: float) -> None:
        self._enough.append((now_s, replicas))
        while self._enough[0][0] < now_s - self._settings.stabilisation_s:
            self._enough.popleft()

    def _kept(self, needed: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
        """Return the needed replicas, and of present ones above that as many as the last `stabilisation_s` needed.

        A past need justifies keeping replicas, not adding any.
        """
        enough = {stage: max(replicas[stage] for _, replicas in self._enough) for stage in self._stages}
        return {stage: max(count, min(now[stage], enough[stage])) for stage, count in needed.items()}

    def _decision(self, costs: Sequence[StageCost], up: Sizing, demand: Demand, now: Mapping[str, int]) -> Decision:
        """Return needed and kept replicas, if the cores suffice; else the needed ones."""
        replicas = self._kept(up.replicas, now)
        if sum(cost.bounds.cores * replicas[cost.stage] for cost in costs) > self._cores:
            replicas = dict(up.replicas)
        service_s = {cost.stage: cost.service_s for cost in costs}
        return Decision(replicas, "", demand, min(up.rate, demand.rate), service_s, up.limits)
