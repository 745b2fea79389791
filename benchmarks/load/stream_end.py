"""Streams that a server ends while a preset still sends: the status, as an error."""

import asyncio
from typing import Any

import grpc

from sonorant.errors import Unavailable

__all__ = ["STREAM_ENDED", "stream_error"]

STREAM_ENDED = (grpc.aio.AioRpcError, asyncio.InvalidStateError)
"""What a read or a write of a stream raises that has ended."""


async def stream_error(call: "grpc.aio.StreamStreamCall[Any, Any]") -> Unavailable:
    """Return the error of a stream that has ended, with its status."""
    return Unavailable(f"a stream: {(await call.code()).name}: {await call.details()}")
