"""When to call a recognizer again that has refused a call, for its load or before it read all of it."""

import random

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status

from services.coordination.durations import seconds

__all__ = ["retry_delay_s"]

# grpc.aio's own status where it writes to a stream that the recognizer has ended; the recognizer's status is lost.
_STATUS_LOST = "Internal error from Core"
_LOST_DELAY_S = 1.0


def retry_delay_s(error: grpc.aio.AioRpcError) -> float | None:
    """Return the seconds to wait before another try of a call that had no answer; None: it is of no use.

    They are of the error's RetryInfo. An error that hides why the recognizer ended the stream is worth a try, which
    may end with the reason. Up to half as long again, at random, so that those who were refused together do not come
    back together.
    """
    delay_s = _LOST_DELAY_S if error.details() == _STATUS_LOST else _told_s(error)
    return None if delay_s is None else delay_s * random.uniform(1.0, 1.5)


def _told_s(error: grpc.aio.AioRpcError) -> float | None:
    status, info = rpc_status.from_call(error), RetryInfo()
    if status is None or not any(detail.Unpack(info) for detail in status.details):
        return None
    return seconds(info.retry_delay)
