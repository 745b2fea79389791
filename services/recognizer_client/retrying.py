"""When to call a recognizer again that has refused a call."""

import random

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status

from services.coordination.durations import seconds

__all__ = ["lost_status_delay_s", "retry_delay_s", "unanswered_delay_s"]

# grpc.aio's own status where it writes to a stream that the recognizer has ended; the recognizer's status is lost.
_STATUS_LOST = "Internal error from Core"
_LOST_DELAY_S = 1.0

_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)  # the latter while a port closes
_AWAY_DELAY_S = 0.5


def retry_delay_s(error: grpc.aio.AioRpcError) -> float | None:
    """Return the seconds to wait before another try, by the error's RetryInfo; None if it has none.

    Up to half as long again, at random, so that those who were refused together do not come back together.
    """
    status, info = rpc_status.from_call(error), RetryInfo()
    if status is None or not any(detail.Unpack(info) for detail in status.details):
        return None
    return seconds(info.retry_delay) * random.uniform(1.0, 1.5)


def lost_status_delay_s(error: grpc.aio.AioRpcError) -> float | None:
    """Return the seconds to wait before another try, which may end with the reason; None if the status is not lost.

    For a stream that had no answer yet: what was recognized would come twice.
    """
    return _LOST_DELAY_S * random.uniform(1.0, 1.5) if error.details() == _STATUS_LOST else None


def unanswered_delay_s(error: grpc.aio.AioRpcError, goes_on: bool) -> float | None:
    """Return the seconds to wait before another try of a stream that had no answer; None if it is not worth one.

    goes_on: whether it has a resume token. The recognizer that gave it has shut down, perhaps to start anew: none may
    answer for seconds.
    """
    if goes_on and error.code() in _AWAY:
        return _AWAY_DELAY_S * random.uniform(1.0, 1.5)
    return lost_status_delay_s(error)
