"""Details of errors in gRPC: google.rpc.RetryInfo, in the trailing metadata `grpc-status-details-bin`."""

from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode
from grpc_status.rpc_status import to_status

from services.coordination.durations import duration
from sonorant.errors import SonorantError
from sonorant.serving.errors import TooManyStreams, code_of

__all__ = ["retry_details"]


def retry_details(error: SonorantError) -> tuple[tuple[str, bytes], ...]:
    """Return the trailing metadata of an error: when to retry, if that is known."""
    if not isinstance(error, TooManyStreams):
        return ()
    number: int = StatusCode[code_of(error)].value[0]
    detail = Any()
    detail.Pack(RetryInfo(retry_delay=duration(error.retry_s)))
    return tuple(to_status(Status(code=number, message=str(error), details=[detail])).trailing_metadata)
