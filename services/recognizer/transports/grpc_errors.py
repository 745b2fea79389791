"""Errors as statuses of gRPC, with google.rpc.RetryInfo in the trailing metadata `grpc-status-details-bin`."""

from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf import any_pb2
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status.rpc_status import to_status

from services.coordination.durations import duration
from sonorant.errors import SonorantError
from sonorant.serving.errors import FAULT, INTERNAL, TooManyStreams, code_of

__all__ = ["abort", "fail"]

# Of a message in UTF-8, of which gRPC sends three for each that is not ASCII; it ends a call with more than 8 KiB of
# metadata in a way of its own.
_MOST_BYTES = 1000

_Context = grpc.aio.ServicerContext[Any, Any]

log = structlog.get_logger()


async def abort(context: _Context, error: SonorantError, code: str) -> NoReturn:
    """End a call with an error's canonical code and its message, which may quote a client's field of any length."""
    await context.abort(grpc.StatusCode[code], _shortened(str(error)), _retry_details(error))
    raise error


async def fail(context: _Context, error: Exception) -> NoReturn:
    """End a call by a fault of ours, of which gRPC would tell the client all."""
    log.error("request_failed", exc_info=error)
    await context.abort(grpc.StatusCode[INTERNAL.code], FAULT)
    raise error


def _retry_details(error: SonorantError) -> tuple[tuple[str, bytes], ...]:
    """Return the trailing metadata of an error: when to retry, if that is known."""
    if not isinstance(error, TooManyStreams):
        return ()
    number: int = grpc.StatusCode[code_of(error)].value[0]
    detail = any_pb2.Any()
    detail.Pack(RetryInfo(retry_delay=duration(error.retry_s)))
    return tuple(to_status(Status(code=number, message=_shortened(str(error)), details=[detail])).trailing_metadata)


def _shortened(message: str) -> str:
    return message.encode(errors="replace")[:_MOST_BYTES].decode(errors="ignore")
