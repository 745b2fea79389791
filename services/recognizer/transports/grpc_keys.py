"""API keys of gRPC calls: all but health checks need one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn

import grpc
from grpc_health.v1 import health

from services.recognizer.callers import CALLER
from services.recognizer.key_file import KeyFile
from services.recognizer.transports.credentials import api_key
from services.recognizer.transports.grpc_errors import abort
from services.recognizer.transports.grpc_methods import Handler, linger
from sonorant.errors import SonorantError
from sonorant.serving.errors import Unauthenticated

__all__ = ["KeyInterceptor"]

_OPEN = f"/{health.SERVICE_NAME}/"
_KINDS: dict[tuple[bool, bool], Callable[..., Handler]] = {  # by whether requests and responses are streams
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
_Context = grpc.aio.ServicerContext[Any, Any]


class KeyInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls without a key of `keys`, and sets the caller of the others; refuse: gives an error's code."""

    def __init__(self, keys: KeyFile, refuse: Callable[[SonorantError], str]) -> None:
        self._keys = keys
        self._refuse = refuse

    async def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the handler of a call, which runs in this task, or one that refuses it."""
        handler = await continuation(handler_call_details)
        if handler is None or handler_call_details.method.startswith(_OPEN):
            return handler
        try:
            CALLER.set(self._keys.caller(api_key(handler_call_details.invocation_metadata or ())))
        except Unauthenticated as error:
            return _refusing(handler, error, self._refuse)
        return handler


def _refusing(handler: Handler, error: SonorantError, refuse: Callable[[SonorantError], str]) -> Handler:
    """Return a handler of the same kind that ends the call with an error."""

    async def unary(message: bytes, context: _Context) -> NoReturn:
        await abort(context, error, refuse(error))

    async def streaming(messages: AsyncIterator[bytes], context: _Context) -> NoReturn:
        await linger(messages)
        await abort(context, error, refuse(error))

    call = streaming if handler.request_streaming else unary
    return _KINDS[handler.request_streaming, handler.response_streaming](call)
