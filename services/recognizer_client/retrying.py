"""When to call a recognizer again that has refused a call for its load."""

import random

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

__all__ = ["retry_delay_s"]

_DETAILS = "grpc-status-details-bin"


def retry_delay_s(error: grpc.aio.AioRpcError) -> float | None:
    """Return the seconds to wait before another try, by the error's RetryInfo; None if it has none.

    Up to half as long again, at random, so that those who were refused together do not come back together.
    """
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            for detail in Status.FromString(value).details:
                info = RetryInfo()
                if detail.Unpack(info):
                    delay_s: float = info.retry_delay.ToMicroseconds() / 1e6
                    return delay_s * random.uniform(1.0, 1.5)
    return None
