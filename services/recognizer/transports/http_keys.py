"""API keys of HTTP requests and WebSockets: all but the pages for people need one."""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from services.recognizer.callers import CALLER
from services.recognizer.engine import Engine
from services.recognizer.key_file import KeyFile
from services.recognizer.transports.credentials import SUBPROTOCOL, api_key, offered_key
from services.recognizer.transports.http_errors import error_answer, linger
from services.recognizer.transports.http_stream import refuse_stream
from sonorant.errors import SonorantError
from sonorant.serving.errors import Unauthenticated

__all__ = ["KeyedApplication"]

_OPEN, _OPEN_BELOW = "/", "/web/"  # static: a browser loads a page before it can send a key


class KeyedApplication:
    """An application whose requests need a key of `keys`, which sets their caller; without `keys`, they need none."""

    def __init__(self, application: ASGIApp, engine: Engine, keys: KeyFile | None) -> None:
        self._application = application
        self._engine = engine
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        subprotocols = scope.get("subprotocols", ())
        offered = offered_key(subprotocols)
        tell = _accepting(send) if offered else send
        if self._keys is not None and not _is_open(scope["path"]):
            try:
                CALLER.set(self._keys.caller(api_key(Headers(scope=scope).items()) or offered))
            except Unauthenticated as error:
                await self._refuse(error, scope, receive, tell)
                return
        await self._application(scope, receive, tell)

    async def _refuse(self, error: SonorantError, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            client = WebSocket(scope, receive, send)
            try:
                await client.accept()
                await refuse_stream(self._engine, client, error)
            except WebSocketDisconnect:
                pass
            return
        status, headers, content = error_answer(self._engine, error)
        await linger(receive)
        await JSONResponse(content, status, headers)(scope, receive, send)


def _is_open(path: str) -> bool:
    return path == _OPEN or path.startswith(_OPEN_BELOW)


def _accepting(send: Send) -> Send:
    """Return `send` that names the accepted subprotocol: a browser closes a WebSocket whose server names none."""

    async def tell(message: Message) -> None:
        if message["type"] == "websocket.accept":
            message = {**message, "subprotocol": SUBPROTOCOL}
        await send(message)

    return tell
