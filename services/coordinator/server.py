"""The coordinator's gRPC server."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from services.coordination.durations import duration
from services.coordination.redis_ledger import Start
from services.coordinator.control import ControlPlane
from services.process.channels import SERVER_OPTIONS, add_port
from services.process.vital_tasks import VitalTasks
from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import Rejection
from sonorant.errors import SonorantError, Unavailable
from sonorant.recipe.pipeline import PipelineRecipe
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1 import coordinator_pb2_grpc

__all__ = ["CoordinatorServer"]

_SERVICE = pb.DESCRIPTOR.services_by_name["Coordinator"].full_name
_REFRESH_S = 0.5
_NOTIFY_S = 0.02
_Response = TypeVar("_Response")
_Call: TypeAlias = Callable[[Any, Any, Any], Coroutine[Any, Any, _Response]]


def _answering_errors(call: _Call[_Response]) -> _Call[_Response]:
    """Map expected errors to gRPC statuses."""

    @wraps(call)
    async def answer(self: Any, request: Any, context: Any) -> _Response:
        try:
            return await call(self, request, context)
        except ValueError as error:
            status, reason = grpc.StatusCode.INVALID_ARGUMENT, str(error)
        except Unavailable as error:
            status, reason = grpc.StatusCode.UNAVAILABLE, str(error)
        except SonorantError as error:
            status, reason = grpc.StatusCode.FAILED_PRECONDITION, str(error)
        await context.abort(status, reason)
        raise AssertionError("abort raises")

    return answer


class CoordinatorServer(coordinator_pb2_grpc.CoordinatorServicer):
    """Serves a `ControlPlane`, and calls its `tick`."""

    def __init__(
        self, control: ControlPlane, pipeline: PipelineRecipe, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._control = control
        self._pipeline = pipeline
        self._clock = clock
        self._changed = asyncio.Condition()
        self._settled = asyncio.Event()  # set once watchers may be answered
        self._tasks: VitalTasks
        self._health = health.aio.HealthServicer()

    async def start(self, address: str) -> int:
        """Listen on "host:port" and return the port; raises Unavailable if it is taken, or Redis away."""
        self._tasks = VitalTasks()
        self._server = grpc.aio.server(options=SERVER_OPTIONS)
        coordinator_pb2_grpc.add_CoordinatorServicer_to_server(self, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection((_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server)
        port = add_port(self._server, address)
        resumed = await asyncio.to_thread(self._control.resume)
        await self._server.start()
        for service in ("", _SERVICE):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        for task in (self._settle(resumed), self._tick(), self._notify(), self._refresh()):
            self._tasks.start(task)
        return port

    async def wait_failed(self) -> None:
        """Wait until a background task fails, and raise its error: without them leases never expire."""
        await self._tasks.failure()

    async def stop(self, grace_s: float) -> None:
        """Answer calls under way for up to `grace_s`, then close."""
        self._tasks.cancel()
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)

    @_answering_errors
    async def Register(self, request: pb.RegisterRequest, context: Any) -> pb.RegisterResponse:
        """See coordinator.proto."""
        if not request.stage or not request.replica:
            raise ValueError(f"stage={request.stage!r}, replica={request.replica!r}: both must be given")
        self._control.register(
            request.stage, request.replica, request.endpoint, self._clock(), arithmetic=request.arithmetic
        )
        return pb.RegisterResponse(heartbeat_interval=duration(self._control.heartbeat_s))

    async def WatchEndpoints(
        self, request: pb.WatchEndpointsRequest, context: Any
    ) -> AsyncIterator[pb.WatchEndpointsResponse]:
        """See coordinator.proto."""
        await self._settled.wait()
        sent: tuple[str, ...] | None = None
        while True:
            async with self._changed:
                while (found := self._control.endpoints(request.stage)) == sent:
                    await self._changed.wait()
            sent = found
            yield pb.WatchEndpointsResponse(endpoints=sent)

    @_answering_errors
    async def Heartbeat(self, request: pb.HeartbeatRequest, context: Any) -> pb.HeartbeatResponse:
        """See coordinator.proto."""
        if not self._control.heartbeat(request, self._clock()):
            await context.abort(grpc.StatusCode.NOT_FOUND, f"replica {request.replica!r} is not registered; register")
        return pb.HeartbeatResponse(
            epochs=self._control.epochs() if request.generation else (),
            finished=self._control.finished,
            heartbeat_interval=duration(self._control.heartbeat_s),
        )

    @_answering_errors
    async def AcquireLease(self, request: pb.AcquireLeaseRequest, context: Any) -> pb.AcquireLeaseResponse:
        """See coordinator.proto."""
        lease = self._control.acquire(request.replica, self._clock())
        if lease is None:
            retry_after = duration(min(self._pipeline.heartbeat_s, 0.25))
            return pb.AcquireLeaseResponse(retry_after=retry_after, finished=self._control.finished)
        records = pb.RecordSet(epoch=lease.epoch, shard=lease.shard, indexes=lease.indexes)
        return pb.AcquireLeaseResponse(lease=lease.number, records=records)

    @_answering_errors
    async def RejectExample(self, request: pb.RejectExampleRequest, context: Any) -> pb.RejectExampleResponse:
        """See coordinator.proto."""
        lineage = Lineage(request.lineage.epoch, request.lineage.shard, request.lineage.index)
        rejection = Rejection(lineage, request.utterance, request.stage, request.reason).shortened()
        await asyncio.to_thread(self._control.reject, rejection)
        return pb.RejectExampleResponse()

    @_answering_errors
    async def StartGeneration(self, request: pb.StartGenerationRequest, context: Any) -> pb.StartGenerationResponse:
        """See coordinator.proto."""
        start = Start(request.generation, request.epoch, request.last_epoch)
        await asyncio.to_thread(self._control.start_generation, start)
        return pb.StartGenerationResponse(total=self._control.total)

    @_answering_errors
    async def EndTraining(self, request: pb.EndTrainingRequest, context: Any) -> pb.EndTrainingResponse:
        """See coordinator.proto."""
        await asyncio.to_thread(self._control.end_training, request.generation)
        return pb.EndTrainingResponse()

    @_answering_errors
    async def GetStatus(self, request: pb.GetStatusRequest, context: Any) -> pb.GetStatusResponse:
        """See coordinator.proto."""
        return self._control.status(self._clock())

    async def _settle(self, resumed: bool) -> None:
        """Answer watchers at once in a new run.

        In a resumed run replicas have not registered again yet: an empty list would close working links.
        """
        if resumed:
            await asyncio.sleep(self._pipeline.dead_after_s)
        self._settled.set()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._pipeline.heartbeat_s / 2)
            self._control.tick(self._clock())

    async def _notify(self) -> None:
        """Wake watchers when endpoints have changed; many changes at a time are one notification."""
        sent = self._control.changes
        while True:
            await asyncio.sleep(_NOTIFY_S)
            if (changes := self._control.changes) != sent:
                sent = changes
                async with self._changed:
                    self._changed.notify_all()

    async def _refresh(self) -> None:
        while True:
            with suppress(Unavailable):  # the ledger logs that it waits; status shows the last refresh
                await asyncio.to_thread(self._control.refresh)
            await asyncio.sleep(_REFRESH_S)
