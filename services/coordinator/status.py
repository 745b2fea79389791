"""The coordinator's state, as `sonorant status` and the planner read it."""

from collections.abc import Iterable, Mapping, Sequence

from services.coordination.durations import duration
from sonorant.delivery.lease import EpochLeases
from sonorant.delivery.ledger import LedgerProgress, Rejection
from sonorant.fleet.bottleneck import StageLoad
from sonorant.fleet.registry import Replica
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["epoch_progress", "loads", "rejection_status", "replica_status", "t_session"]


def loads(stages: Iterable[str], replicas: Sequence[Replica]) -> list[StageLoad]:
    """Return each stage's load, all replicas together; stages without replicas are left out."""
    groups: Mapping[str, list[Replica]] = {s: [r for r in replicas if r.stage == s] for s in stages}
    return [
        StageLoad(stage, sum(r.utilisation for r in group) / len(group), sum(r.queued for r in group))
        for stage, group in groups.items()
        if group
    ]


def epoch_progress(leases: EpochLeases, ledger: LedgerProgress) -> pb.EpochProgress:
    """Return the progress of an epoch, for status and ranks' heartbeats."""
    return pb.EpochProgress(
        epoch=leases.epoch,
        total=leases.total,
        committed=ledger.committed,
        rejected=ledger.rejected,
        outstanding=leases.outstanding,
        reissued=leases.reissued,
        claimed=ledger.claimed,
    )


def t_session(ranks: Iterable[Replica]) -> float | None:
    """Return t_session of the rank with the least step time per example: in their steps, the others wait for it."""
    trained = [rank for rank in ranks if rank.examples_per_second > 0]
    fastest = min(trained, key=lambda rank: rank.utilisation / rank.examples_per_second, default=None)
    return None if fastest is None else fastest.t_session


def replica_status(replica: Replica, now: float) -> pb.ReplicaStatus:
    """Return what status shows of a replica."""
    status = pb.ReplicaStatus(
        stage=replica.stage,
        replica=replica.name,
        endpoint=replica.endpoint,
        utilisation=replica.utilisation,
        examples_per_second=replica.examples_per_second,
        queued=replica.queued,
        draining=replica.draining,
        link_faults=replica.link_faults,
        busy=duration(replica.busy_s),
        waited=duration(replica.waited_s),
        examples=replica.examples,
        wanted=replica.wanted,
        arithmetic=replica.arithmetic,
        cpu=None if replica.cpu_s is None else duration(replica.cpu_s),
    )
    status.heartbeat_age.CopyFrom(duration(max(0.0, now - replica.last_beat_s)))
    return status


def rejection_status(rejection: Rejection) -> pb.Rejection:
    """Return what status shows of a rejected example."""
    epoch, shard, index = rejection.lineage
    message = pb.Rejection(utterance=rejection.utterance, stage=rejection.stage, reason=rejection.reason)
    message.lineage.epoch, message.lineage.shard, message.lineage.index = epoch, shard, index
    message.lineage.SetInParent()
    return message
