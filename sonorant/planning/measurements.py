"""What the planner knows: counters of replicas and ranks as they grow, and costs and rates over a window of them."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Counters", "Demand", "Measurements", "Snapshot"]


class Counters(NamedTuple):
    """Of one replica, or one rank, since it began: seconds at work, examples handed on or trained on."""

    busy_s: float
    examples: int


@dataclass(frozen=True)
class Snapshot:
    """All counters at one time.

    stages: by stage, then by the name of the replica, which no other replica ever has; ranks: the trainer's, by name;
    rejected: examples by the stage that rejected them; wanted: examples that the ranks have room for; finished:
    training is complete.
    """

    stages: Mapping[str, Mapping[str, Counters]]
    ranks: Mapping[str, Counters]
    rejected: Mapping[str, int]
    wanted: int = 0
    finished: bool = False


class Demand(NamedTuple):
    """Of the trainer, in examples per second: what it would take if it never waited, and what it took."""

    rate: float
    observed: float


class _Growth(NamedTuple):
    """Of all counters between two snapshots."""

    at_s: float
    elapsed_s: float
    stages: Mapping[str, Counters]
    ranks: Mapping[str, Counters]
    rejected: Mapping[str, int]


class Measurements:
    """Costs and demand over the last `window_s` seconds of snapshots; None is what could not be measured.

    A counter that is lower than before has begun anew.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._last: Snapshot | None = None
        self._last_s = 0.0
        self._growths: deque[_Growth] = deque()

    def note(self, snapshot: Snapshot, now_s: float) -> None:
        """Take in the next snapshot; `now_s` is monotonic."""
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

    def service_s(self, stage: str) -> float | None:
        """Return the busy seconds of a stage for each example that it handed on."""
        total = _sum(growth.stages[stage] for growth in self._growths if stage in growth.stages)
        return total.busy_s / total.examples if total.examples else None

    def output_ratio(self, stage: str) -> float:
        """Return the examples that a stage handed on for each one that it took; 1 if it took none."""
        handed_on = sum(growth.stages[stage].examples for growth in self._growths if stage in growth.stages)
        rejected = sum(growth.rejected.get(stage, 0) for growth in self._growths)
        return handed_on / (handed_on + rejected) if handed_on else 1.0

    def demand(self) -> Demand | None:
        """Return the rate that all ranks together would take if none of them ever waited.

        Ranks step together. A rank that has its batch waits, inside the step, for those that have none yet, and cannot
        tell that from work; the rank that waits there the least tells best what all could do.
        """
        totals: defaultdict[str, Counters] = defaultdict(lambda: Counters(0.0, 0))
        for growth in self._growths:
            for rank, counters in growth.ranks.items():
                totals[rank] = _sum((totals[rank], counters))
        fastest = max((t.examples / t.busy_s for t in totals.values() if t.examples and t.busy_s > 0), default=None)
        if fastest is None or self._last is None or not self._last.ranks:
            return None
        examples = sum(total.examples for total in totals.values())
        return Demand(fastest * len(self._last.ranks), examples / sum(growth.elapsed_s for growth in self._growths))


def _growth(now: Mapping[str, Counters], before: Mapping[str, Counters]) -> dict[str, Counters]:
    """Return by how much each counter grew; one that was not there before has grown from zero."""
    grown = {}
    for name, counters in now.items():
        known = before.get(name, Counters(0.0, 0))
        begun_anew = counters.busy_s < known.busy_s or counters.examples < known.examples
        base = Counters(0.0, 0) if begun_anew else known
        grown[name] = Counters(counters.busy_s - base.busy_s, counters.examples - base.examples)
    return grown


def _sum(counters: Iterable[Counters]) -> Counters:
    busy_s, examples = 0.0, 0
    for one in counters:
        busy_s, examples = busy_s + one.busy_s, examples + one.examples
    return Counters(busy_s, examples)
