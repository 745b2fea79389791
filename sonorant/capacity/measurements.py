"""The planner's measurements: counters of replicas and ranks, and costs and rates over a window of them."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Cost", "Counters", "Demand", "Measurements", "Snapshot"]


class Counters(NamedTuple):
    """Counters of one replica, or one rank, since it began: busy seconds, examples handed on or trained on.

    cpu_s: CPU time in these seconds; None: not measured, and assumed to be all of them.
    """

    busy_s: float
    examples: int
    cpu_s: float | None = None


class Cost(NamedTuple):
    """An example's cost in a stage: busy seconds of a replica, and the CPU seconds in them."""

    busy_s: float
    cpu_s: float

    @property
    def waits_s(self) -> float:
        """Busy seconds without the CPU: waits for storage, and for a core."""
        return max(0.0, self.busy_s - self.cpu_s)


@dataclass(frozen=True)
class Snapshot:
    """All counters at one time.

    stages: by stage, then by the replica's unique name; ranks: the trainer's, by name;
    rejected: examples by the stage that rejected them; wanted: free slots of the ranks' pools; finished:
    training is complete.
    """

    stages: Mapping[str, Mapping[str, Counters]]
    ranks: Mapping[str, Counters]
    rejected: Mapping[str, int]
    wanted: int = 0
    finished: bool = False


class Demand(NamedTuple):
    """The trainer's rates, in examples per second: without waits, and observed."""

    rate: float
    observed: float


class _Grown(NamedTuple):
    """Growth of counters."""

    busy_s: float = 0.0
    examples: int = 0
    cpu_s: float = 0.0


class _Growth(NamedTuple):
    """Growth of all counters between two snapshots."""

    at_s: float
    elapsed_s: float
    stages: Mapping[str, _Grown]
    ranks: Mapping[str, _Grown]
    rejected: Mapping[str, int]


class Measurements:
    """Costs and demand over the last `window_s` seconds of snapshots; None: not measurable.

    A counter that is lower than before has restarted.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._last: Snapshot | None = None
        self._last_s = 0.0
        self._growths: deque[_Growth] = deque()

    def note(self, snapshot: Snapshot, now_s: float) -> None:
        """Add the next snapshot; `now_s` is monotonic."""
        if self._last is not None and now_s > self._last_s:
            before = self._last
            stages = {
                stage: _sum(_growth(replicas, before.stages.get(stage, {})).values())
                for stage, replicas in snapshot.stages.items()
            }
            rejected = {
                stage: count - known if count >= (known := before.rejected.get(stage, 0)) else count
                for stage, count in snapshot.rejected.items()
            }
            ranks = _growth(snapshot.ranks, before.ranks)
            self._growths.append(_Growth(now_s, now_s - self._last_s, stages, ranks, rejected))
        while self._growths and self._growths[0].at_s <= now_s - self._window_s:
            self._growths.popleft()
        self._last, self._last_s = snapshot, now_s

    def cost(self, stage: str) -> Cost | None:
        """Return a stage's cost of each example that it handed on."""
        total = _sum(growth.stages[stage] for growth in self._growths if stage in growth.stages)
        return Cost(total.busy_s / total.examples, total.cpu_s / total.examples) if total.examples else None

    def rate(self, stage: str, since_s: float = float("-inf")) -> float:
        """Return the examples per second that a stage handed on after `since_s`; 0 without a snapshot since."""
        seen = [growth for growth in self._growths if growth.at_s - growth.elapsed_s >= since_s]
        examples = sum(growth.stages[stage].examples for growth in seen if stage in growth.stages)
        return examples / sum(growth.elapsed_s for growth in seen) if seen else 0.0

    def output_ratio(self, stage: str) -> float:
        """Return the examples that a stage handed on for each one that it took; 1 if it took none."""
        handed_on = sum(growth.stages[stage].examples for growth in self._growths if stage in growth.stages)
        rejected = sum(growth.rejected.get(stage, 0) for growth in self._growths)
        return handed_on / (handed_on + rejected) if handed_on else 1.0

    def demand(self) -> Demand | None:
        """Return the rate that all ranks together would take if none of them ever waited.

        Ranks step together. A rank with a batch waits, inside the step, for those without one, and counts that as work;
        so the rank that waits there the least gives the best estimate.
        """
        totals: defaultdict[str, _Grown] = defaultdict(_Grown)
        for growth in self._growths:
            for rank, counters in growth.ranks.items():
                totals[rank] = _sum((totals[rank], counters))
        fastest = max((t.examples / t.busy_s for t in totals.values() if t.examples and t.busy_s > 0), default=None)
        if fastest is None or self._last is None or not self._last.ranks:
            return None
        examples = sum(total.examples for total in totals.values())
        return Demand(fastest * len(self._last.ranks), examples / sum(growth.elapsed_s for growth in self._growths))


def _growth(now: Mapping[str, Counters], before: Mapping[str, Counters]) -> dict[str, _Grown]:
    """Return the growth of each counter; a new one has grown from zero."""
    return {name: _grown(counters, before.get(name, Counters(0.0, 0, 0.0))) for name, counters in now.items()}


def _grown(now: Counters, before: Counters) -> _Grown:
    if now.busy_s < before.busy_s or now.examples < before.examples:
        before = Counters(0.0, 0, 0.0)
    busy_s = now.busy_s - before.busy_s
    cpu_s = busy_s if now.cpu_s is None else max(0.0, now.cpu_s - (before.cpu_s or 0.0))
    return _Grown(busy_s, now.examples - before.examples, min(cpu_s, busy_s))


def _sum(counters: Iterable[_Grown]) -> _Grown:
    busy_s, examples, cpu_s = 0.0, 0, 0.0
    for one in counters:
        busy_s, examples, cpu_s = busy_s + one.busy_s, examples + one.examples, cpu_s + one.cpu_s
    return _Grown(busy_s, examples, cpu_s)
