"""Long-running operations of gRPC clients (google.longrunning), in the memory of this process."""

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import grpc
import structlog
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from services.coordination.durations import seconds
from services.recognizer.callers import CALLER
from services.recognizer.transports.grpc_methods import Handler, unary
from sonorant.errors import SonorantError
from sonorant.serving.errors import FAULT, BadRequest, TooManyStreams, UnknownOperation
from sonorant.v1 import longrunning_pb2 as pb

__all__ = ["SERVICE", "Operations", "rpc_status"]

log = structlog.get_logger()

SERVICE = "google.longrunning.Operations"
_MOST = 100  # of clients with one name
_MOST_IN_ALL = 1000


@dataclass(frozen=True, slots=True)
class _Work:
    holder: str | None  # name of the API key of its client
    metadata: Callable[[], Message]
    task: asyncio.Task[Message]


class Operations:
    """The latest operations by name: work in tasks of this event loop, which other clients may follow or cancel.

    With API keys, an operation is there for keys of the name that began it, and for no others.

    refuse: counts an error, and gives its code.
    """

    def __init__(self, refuse: Callable[[SonorantError], str]) -> None:
        self._refuse = refuse
        self._works: dict[str, _Work] = {}

    def begin(self, parent: str, work: Coroutine[Any, Any, Message], metadata: Callable[[], Message]) -> pb.Operation:
        """Begin `work`, whose result is the operation's response; raises TooManyStreams.

        Beyond 100 of clients with one name, the oldest of theirs that is done is forgotten. metadata: how far it is.
        """
        own = [name for name in self._works if self._own(name)]
        if len(own) >= _MOST:
            done = next((name for name in own if self._works[name].task.done()), None)
            if done is not None:
                del self._works[done]
                own.remove(done)
        if len(own) >= _MOST or len(self._works) >= _MOST_IN_ALL:
            work.close()
            raise TooManyStreams(f"{len(own)} operations at work: no more at once; try again later")
        name = f"{parent}/operations/{uuid.uuid4().hex}"
        self._works[name] = _Work(_holder(), metadata, asyncio.ensure_future(work))
        return self._operation(name)

    def cancel(self) -> None:
        """Cancel all that is not done."""
        for work in self._works.values():
            work.task.cancel()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the methods of google.longrunning.Operations, for a server."""
        methods: dict[str, Handler] = {
            "GetOperation": unary(pb.GetOperationRequest, self._get, self._refuse),
            "ListOperations": unary(pb.ListOperationsRequest, self._list, self._refuse),
            "WaitOperation": unary(pb.WaitOperationRequest, self._wait, self._refuse),
            "CancelOperation": unary(pb.CancelOperationRequest, self._cancel, self._refuse),
            "DeleteOperation": unary(pb.DeleteOperationRequest, self._delete, self._refuse),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def _get(self, request: pb.GetOperationRequest) -> pb.Operation:
        return self._operation(request.name)

    async def _list(self, request: pb.ListOperationsRequest) -> pb.ListOperationsResponse:
        if request.filter or request.page_token:
            raise BadRequest("filter and page_token: not supported; leave them out: there is one page")
        names = [name for name in self._works if name.startswith(f"{request.name}/") and self._own(name)]
        if 0 < request.page_size < len(names):
            raise BadRequest(f"page_size={request.page_size}: there is one page, of {len(names)}; leave it out")
        return pb.ListOperationsResponse(operations=map(self._operation, names))

    async def _wait(self, request: pb.WaitOperationRequest) -> pb.Operation:
        limit_s = seconds(request.timeout) if request.HasField("timeout") else None
        await asyncio.wait({self._work(request.name).task}, timeout=limit_s)
        return self._operation(request.name)

    async def _cancel(self, request: pb.CancelOperationRequest) -> Empty:
        self._work(request.name).task.cancel()
        return Empty()

    async def _delete(self, request: pb.DeleteOperationRequest) -> Empty:
        if not self._work(request.name).task.done():
            raise BadRequest(f"operation {request.name!r}: is at work; cancel it first")
        del self._works[request.name]
        return Empty()

    def _work(self, name: str) -> _Work:
        if name in self._works and self._own(name):
            return self._works[name]
        raise UnknownOperation(f"operation {name!r}: unknown here: forgotten, deleted, or begun on another replica")

    def _own(self, name: str) -> bool:
        return self._works[name].holder == _holder()

    def _operation(self, name: str) -> pb.Operation:
        work = self._work(name)
        operation = pb.Operation(name=name, done=work.task.done())
        operation.metadata.Pack(work.metadata())
        if not work.task.done():
            return operation
        if work.task.cancelled():
            operation.error.CopyFrom(pb.Status(code=_number("CANCELLED"), message="cancelled"))
        elif (error := work.task.exception()) is not None:
            log.error("operation_failed", operation=name, exc_info=error)
            operation.error.CopyFrom(pb.Status(code=_number("INTERNAL"), message=FAULT))
        else:
            operation.response.Pack(work.task.result())
        return operation


def rpc_status(error: SonorantError, code: str) -> pb.Status:
    """Return an error with its canonical code as a message."""
    return pb.Status(code=_number(code), message=str(error))


def _holder() -> str | None:
    caller = CALLER.get()
    return None if caller is None else caller.name


def _number(code: str) -> int:
    number: int = grpc.StatusCode[code].value[0]
    return number
