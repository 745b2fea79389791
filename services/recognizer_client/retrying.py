"""When to call a recognizer again that has refused a call for its load."""

import random

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status

from services.coordination.durations import seconds

__all__ = ["retry_delay_s"]


def retry_delay_s(error: grpc.aio.AioRpcError) -> float | None:
    """Return the seconds to wait before another try, by the error's RetryInfo; None if it has none.

    Up to half as long again, at random, so that those who were refused together do not come back together.
    """
    status, info = rpc_status.from_call(error), RetryInfo()
    if status is None or not any(detail.Unpack(info) for detail in status.details):
        return None
    return seconds(info.retry_delay) * random.uniform(1.0, 1.5)
