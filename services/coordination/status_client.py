"""Requests the status of a training from its coordinator."""

from collections.abc import Iterable

import grpc

from services.process.channels import open_channel
from services.process.keys import Keys
from services.process.tls_probe import why_refused
from sonorant.errors import Unavailable
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

__all__ = ["by_stage", "query_status"]

_TIMEOUT_S = 3.0


def query_status(address: str, keys: Keys | None = None) -> pb.GetStatusResponse:
    """Return the coordinator's status; raises Unavailable if none answers at `address`. keys: default, the process'."""
    with open_channel(address, keys=keys) as channel:
        try:
            return CoordinatorStub(channel).GetStatus(pb.GetStatusRequest(), timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            if why := why_refused(address, keys):
                raise Unavailable(f"the coordinator at {address} refuses the connection: {why}") from error
            raise Unavailable(
                f"the coordinator at {address} does not answer; is the training running? (`sonorant train` goes on)"
            ) from error


def by_stage(replicas: Iterable[pb.ReplicaStatus]) -> dict[str, list[pb.ReplicaStatus]]:
    """Return the replicas of each stage that has any, in their order."""
    stages: dict[str, list[pb.ReplicaStatus]] = {}
    for replica in replicas:
        stages.setdefault(replica.stage, []).append(replica)
    return stages
