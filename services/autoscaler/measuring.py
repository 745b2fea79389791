"""The planner's snapshot, from the coordinator's status."""

from collections.abc import Sequence

from services.coordination.durations import seconds
from sonorant.capacity.measurements import Counters, Snapshot
from sonorant.recipe.layout import TRAINER
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["snapshot_of"]


def snapshot_of(status: pb.GetStatusResponse, stages: Sequence[str]) -> Snapshot:
    """Return the counters of `stages` and ranks; a single stage runs the whole chain, and has all rejections."""
    counters: dict[str, dict[str, Counters]] = {stage: {} for stage in (*stages, TRAINER)}
    for replica in status.replicas:
        if replica.stage in counters:
            cpu_s = seconds(replica.cpu) if replica.HasField("cpu") else None
            counters[replica.stage][replica.replica] = Counters(seconds(replica.busy), replica.examples, cpu_s)
    ranks = counters.pop(TRAINER)
    rejected = {stage: status.rejected[stage] for stage in stages}
    if len(stages) == 1:
        rejected = {stages[0]: sum(status.rejected.values())}
    return Snapshot(counters, ranks, rejected, sum(replica.wanted for replica in status.replicas), status.finished)
