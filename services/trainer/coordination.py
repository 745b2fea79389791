"""Rank 0's calls to the coordinator."""

import time
from typing import TypeVar

import grpc

from services.coordination.status_client import by_stage
from services.process.channels import open_channel
from sonorant.errors import Unavailable
from sonorant.training.metrics import MetricsLog
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

__all__ = ["StageWatch", "end_recorded", "end_training", "start_generation"]

_PATIENCE_S = 60.0
_ATTEMPT_S = 15.0  # a new process may have replaced one that hangs, at the same address
_PAUSE_S = 0.2
_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_EVERY_S = 5.0

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


def start_generation(address: str, generation: int, epoch: int, last_epoch: int) -> None:
    """Start a generation at the coordinator, which leases `epoch` and those after it.

    Raises Unavailable if it does not answer within a minute, or refuses.
    """
    request = pb.StartGenerationRequest(generation=generation, epoch=epoch, last_epoch=last_epoch)
    with open_channel(address) as channel:
        try:
            _retry(CoordinatorStub(channel).StartGeneration, request)
        except grpc.RpcError as error:
            raise Unavailable(
                f"coordinator {address} did not start generation {generation} ({_reason(error)}); look at its log"
            ) from error


def end_training(address: str, generation: int) -> None:
    """End training at the coordinator, which leases nothing more; totals and checkpoints are written.

    Raises Unavailable if it does not answer within a minute, or refuses; a restarted trainer retries.
    """
    request = pb.EndTrainingRequest(generation=generation)
    with open_channel(address) as channel:
        try:
            _retry(CoordinatorStub(channel).EndTraining, request)
        except grpc.RpcError as error:
            raise Unavailable(
                f"coordinator {address} did not note the end of generation {generation} ({_reason(error)}); training "
                "is complete, but the coordinator has not recorded it: start the trainer again to retry"
            ) from error


def end_recorded(address: str) -> bool:
    """Return whether the coordinator has recorded the end of training; raises Unavailable if it does not answer."""
    with open_channel(address) as channel:
        try:
            status = _retry(CoordinatorStub(channel).GetStatus, pb.GetStatusRequest())
        except grpc.RpcError as error:
            raise Unavailable(
                f"training is complete, but coordinator {address} does not answer ({_reason(error)}); look at its log"
            ) from error
    return bool(status.finished)


def _retry(call: "grpc.UnaryUnaryMultiCallable[_Request, _Response]", request: _Request) -> _Response:
    """Retry an idempotent call for a minute while the coordinator is unavailable or does not answer."""
    give_up_s = time.monotonic() + _PATIENCE_S
    while True:
        timeout_s = min(_ATTEMPT_S, give_up_s - time.monotonic())
        try:
            return call(request, timeout=timeout_s, wait_for_ready=True)
        except grpc.RpcError as error:
            over = time.monotonic() + _PAUSE_S >= give_up_s
            if over or not isinstance(error, grpc.Call) or error.code() not in _AGAIN:
                raise
        time.sleep(_PAUSE_S)


def _reason(error: grpc.RpcError) -> str:
    return f"{error.code().name}: {error.details()}" if isinstance(error, grpc.Call) else str(error)


class StageWatch:
    """Writes the stages' figures to the metrics every 5 s, asynchronously."""

    def __init__(self, address: str, metrics: MetricsLog) -> None:
        self._metrics = metrics
        self._channel = open_channel(address)
        self._stub = CoordinatorStub(self._channel)
        self._due_s = time.monotonic() + _EVERY_S
        self._asked: grpc.Future[pb.GetStatusResponse] | None = None

    def write_if_due(self, time_s: float, now_s: float) -> None:
        """Write the response that has arrived, and send the next request when it is due."""
        if self._asked is not None and self._asked.done():
            answered, self._asked = self._asked, None
            if answered.exception() is None:
                self._metrics.write("stages", {"time_s": time_s, **_figures(answered.result())})
        if self._asked is None and now_s >= self._due_s:
            self._due_s = now_s + _EVERY_S
            self._asked = self._stub.GetStatus.future(pb.GetStatusRequest(), timeout=_EVERY_S, wait_for_ready=True)

    def close(self) -> None:
        """Close the channel; an outstanding request is dropped."""
        self._channel.close()


def _figures(status: pb.GetStatusResponse) -> dict[str, object]:
    """Return mean utilisation and summed rate of each stage's replicas, and the bottleneck."""
    stages = by_stage(status.replicas)
    return {
        "utilisation": {s: sum(r.utilisation for r in rs) / len(rs) for s, rs in stages.items()},
        "rate": {s: sum(r.examples_per_second for r in rs) for s, rs in stages.items()},
        "bottleneck": status.bottleneck,
    }
