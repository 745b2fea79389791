"""What stages and trainer are scaled to when training is complete, and when it goes on: a machine without a cluster.

Complete training needs neither: all go to nothing, so that their nodes and GPUs are free. Who comes back to it with a
recipe of more epochs gets them again. What somebody else has scaled to nothing is left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Rest"]


@dataclass(frozen=True)
class Rest:
    """wanted: replicas of each workload that go on with; fixed: which of them have these and no others meanwhile."""

    wanted: Mapping[str, int]
    fixed: frozenset[str] = frozenset()

    def changes(self, complete: bool, resting: bool, replicas: Mapping[str, int]) -> dict[str, int]:
        """Return the workloads to scale, and to how many replicas.

        complete: whether training is; resting: whether it was before, so that who has no replicas lost them here;
        replicas: those that each workload is told to have now.
        """
        if complete:
            return {name: 0 for name, count in replicas.items() if count}
        changes = {}
        for name, count in replicas.items():
            wakes = resting and not count
            if wakes or (name in self.fixed and count not in (0, self.wanted[name])):
                changes[name] = self.wanted[name]
        return changes
