"""Scales of stages and trainer when training is complete, and when it resumes: a state machine without a cluster.

After a complete training all are scaled to 0, which frees their nodes and GPUs; a recipe of more epochs scales them up
again. Workloads that were scaled to 0 by hand stay so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Rest"]


@dataclass(frozen=True)
class Rest:
    """wanted: replicas of each workload at a resumption; fixed: workloads that always have exactly these."""

    wanted: Mapping[str, int]
    fixed: frozenset[str] = frozenset()

    def changes(self, complete: bool, resting: bool, replicas: Mapping[str, int]) -> dict[str, int]:
        """Return the workloads to scale, and to how many replicas.

        complete: whether training is; resting: whether it was before, so that rest scaled workloads to 0;
        replicas: desired now, by workload.
        """
        if complete:
            return {name: 0 for name, count in replicas.items() if count}
        changes = {}
        for name, count in replicas.items():
            wakes = resting and not count
            if wakes or (name in self.fixed and count not in (0, self.wanted[name])):
                changes[name] = self.wanted[name]
        return changes
