"""Handlers of gRPC methods over the engine: requests come as bytes, and errors become statuses."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message

from services.recognizer.engine import Engine
from services.recognizer.inbox import Inbox
from services.recognizer.transports.grpc_errors import abort, fail
from services.recognizer.transports.grpc_messages import parsed
from sonorant.errors import SonorantError

__all__ = ["Handler", "listen_out", "serialized", "streaming", "unary"]

_LISTEN_OUT_S = 0.25  # time for a refused stream's client to end its messages

_Request = TypeVar("_Request", bound=Message)

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Context = grpc.aio.ServicerContext[Any, Any]


def serialized(message: Message) -> bytes:
    """Return a message as bytes."""
    return message.SerializeToString()


def unary(
    kind: type[_Request], answer: Callable[[_Request], Awaitable[Message]], refuse: Callable[[SonorantError], str]
) -> Handler:
    """Return the handler of a method with one request of `kind`; refuse: gives an error's code."""

    async def call(message: bytes, context: _Context) -> Message:
        try:
            return await answer(parsed(kind, message))
        except SonorantError as error:
            await abort(context, error, refuse(error))
        except Exception as error:
            await fail(context, error)

    return grpc.unary_unary_rpc_method_handler(call, response_serializer=serialized)


def streaming(
    engine: Engine,
    opening: Callable[[Inbox[bytes]], Awaitable[_Request]],
    responses: Callable[[_Request, Inbox[bytes]], AsyncGenerator[Message, None]],
) -> Handler:
    """Return the handler of a method that recognizes a stream.

    opening: reads what opens the stream, whose slot is taken then, and freed when either side ends it. responses:
    recognizes the messages after it.
    """

    async def call(stream: AsyncIterator[bytes], context: _Context) -> None:
        messages = _Messages(stream)
        try:
            inbox = engine.inbox(messages)
            first = await opening(inbox)
            with engine.admission.slot():
                async with aclosing(responses(first, inbox)) as found:
                    async for response in found:
                        await engine.in_time(context.write(response))
            await listen_out(messages)  # of a stream that a timeout has ended, its client still sends
        except SonorantError as error:
            await listen_out(messages)
            await abort(context, error, engine.refuse(error))
        except Exception as error:
            await fail(context, error)

    return grpc.stream_stream_rpc_method_handler(call, response_serializer=serialized)


class _Messages(AsyncIterator[bytes]):
    """A client's messages, of which a wait may be given up: the next wait is for the same message.

    gRPC's own end for good when a wait for one is cancelled.
    """

    def __init__(self, messages: AsyncIterator[bytes]) -> None:
        self._messages = messages
        self._read: asyncio.Future[bytes] | None = None

    async def __anext__(self) -> bytes:
        if self._read is None:
            self._read = asyncio.ensure_future(anext(self._messages))
            self._read.add_done_callback(_told)
        message = await asyncio.shield(self._read)
        self._read = None
        return message


def _told(read: asyncio.Future[bytes]) -> None:
    """Take note of a read's error, which the event loop would log of one that nobody waits for any more."""
    if not read.cancelled():
        read.exception()


async def listen_out(messages: AsyncIterator[bytes]) -> None:
    """Read and drop the messages of a client whose stream ends before them, for a while.

    If its stream were closed while it writes, its client would often get INTERNAL instead of our status.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_LISTEN_OUT_S):
            async for _ in messages:
                pass
