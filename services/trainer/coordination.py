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

__all__ = ["StageWatch", "end_training", "knows_end", "start_generation"]

_PATIENCE_S = 60.0
_ATTEMPT_S = 15.0  # one that hangs may be another process by then, at the same address
_PAUSE_S = 0.2
_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_EVERY_S = 5.0

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


def start_generation(address: str, generation: int, epoch: int, last_epoch: int) -> None:
    """Let the coordinator begin to lease `epoch`.

    Raises Unavailable if it does not answer within a minute, or refuses.
    """
    request = pb.StartGenerationRequest(generation=generation, epoch=epoch, last_epoch=last_epoch)
    with open_channel(address) as channel:
        try:
            _insist(CoordinatorStub(channel).StartGeneration, request)
        except grpc.RpcError as error:
            raise Unavailable(
                f"coordinator {address} did not start generation {generation} ({_reason(error)}); look at its log"
            ) from error


def end_training(address: str, generation: int) -> None:
    """Let the coordinator lease nothing more: training is complete, and all that comes of it is written.

    Raises Unavailable if it does not answer within a minute, or refuses; a trainer that is started again tells it then.
    """
    request = pb.EndTrainingRequest(generation=generation)
    with open_channel(address) as channel:
        try:
            _insist(CoordinatorStub(channel).EndTraining, request)
        except grpc.RpcError as error:
            raise Unavailable(
                f"coordinator {address} did not note the end of generation {generation} ({_reason(error)}); training "
                "is complete, and only the coordinator does not know: start the trainer again to tell it"
            ) from error


def knows_end(address: str) -> bool:
    """Return whether the coordinator knows that training is complete; raises Unavailable if it does not answer."""
    with open_channel(address) as channel:
        try:
            status = _insist(CoordinatorStub(channel).GetStatus, pb.GetStatusRequest())
        except grpc.RpcError as error:
            raise Unavailable(
                f"training is complete, but coordinator {address} does not answer ({_reason(error)}); look at its log"
            ) from error
    return bool(status.finished)


def _insist(call: "grpc.UnaryUnaryMultiCallable[_Request, _Response]", request: _Request) -> _Response:
    """Make an idempotent call again while the coordinator is lost or does not answer, for a minute."""
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
    """Writes a line about the stages into the metrics, every few seconds, without making the trainer wait."""

    def __init__(self, address: str, metrics: MetricsLog) -> None:
        self._metrics = metrics
        self._channel = open_channel(address)
        self._stub = CoordinatorStub(self._channel)
        self._due_s = time.monotonic() + _EVERY_S
        self._asked: grpc.Future[pb.GetStatusResponse] | None = None

    def write_if_due(self, time_s: float, now_s: float) -> None:
        """Write the answer that has come, and ask again when it is time."""
        if self._asked is not None and self._asked.done():
            answered, self._asked = self._asked, None
            if answered.exception() is None:
                self._metrics.write("stages", {"time_s": time_s, **_figures(answered.result())})
        if self._asked is None and now_s >= self._due_s:
            self._due_s = now_s + _EVERY_S
            self._asked = self._stub.GetStatus.future(pb.GetStatusRequest(), timeout=_EVERY_S, wait_for_ready=True)

    def close(self) -> None:
        """Hang up; an answer that has not come is not waited for."""
        self._channel.close()


def _figures(status: pb.GetStatusResponse) -> dict[str, object]:
    """Mean utilisation and summed rate of each stage's replicas."""
    stages = by_stage(status.replicas)
    return {
        "utilisation": {s: sum(r.utilisation for r in rs) / len(rs) for s, rs in stages.items()},
        "rate": {s: sum(r.examples_per_second for r in rs) for s, rs in stages.items()},
        "bottleneck": status.bottleneck,
    }
