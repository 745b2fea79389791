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

__all__ = ["Handler", "linger", "serialized", "streaming", "unary"]

_LINGER_S = 0.25  # time for a refused stream's client to end its messages

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

    async def call(_: AsyncIterator[bytes], context: _Context) -> None:
        async with engine.inbox(_messages(context)) as inbox:
            try:
                first = await opening(inbox)
                with engine.admission.slot():
                    async with aclosing(responses(first, inbox)) as found:
                        async for response in found:
                            await engine.in_time(context.write(response))
                await linger(inbox.rest())  # of a stream that a timeout has ended, its client still sends
            except SonorantError as error:
                await linger(inbox.rest())
                await abort(context, error, engine.refuse(error))
            except grpc.aio.InternalError:  # of a read or a write: the client has cancelled, and no wait was told yet
                raise asyncio.CancelledError from None
            except Exception as error:
                await fail(context, error)

    return grpc.stream_stream_rpc_method_handler(call, response_serializer=serialized)


async def _messages(context: _Context) -> AsyncIterator[bytes]:
    """Yield a client's messages; gRPC's own iterator keeps the last one until the next."""
    while (message := await context.read()) is not grpc.aio.EOF:
        yield message
        del message


async def linger(messages: AsyncIterator[bytes]) -> None:
    """Read and drop the messages of a client whose stream ends before them, for a while.

    If its stream were closed while it writes, its client would often get INTERNAL instead of our status.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            async for _ in messages:
                pass
