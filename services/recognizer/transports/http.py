"""HTTP and WebSocket over the engine: OpenAI's transcriptions and models, streams, and a web page."""

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from services.process.keys import process_keys
from services.process.tls import server_context
from services.recognizer.engine import Engine
from services.recognizer.key_file import KeyFile
from services.recognizer.transports.http_connections import BoundedServer, most_connections
from services.recognizer.transports.http_errors import error_answer, linger
from services.recognizer.transports.http_keys import KeyedApplication
from services.recognizer.transports.http_page import page_routes
from services.recognizer.transports.http_stream import serve_stream
from services.recognizer.transports.http_transcriptions import list_models, show_model, transcribe
from sonorant.errors import SonorantError, Unavailable
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.errors import FAULT

__all__ = ["HttpServer"]

log = structlog.get_logger()

_PING_S = 5.0  # between WebSocket's pings, whose answers wait behind a client's audio: none is a sign of nothing
# Connections whose peer has vanished end after some 15 s.
_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 5, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 2}
# What a kernel takes beyond what is on its way to a client: megabytes of results would hide that none is read.
_MOST_UNSENT = 1 << 16
_KEPT_S = 5.0  # an idle connection
_WAIT_S = 10.0  # for a whole request, and for a client to read what it was sent
_STOP_S = 2.0  # for connections to end, when streams have
_LOOK_EVERY_S = 0.01


class HttpServer:
    """Serves HTTP in the event loop of `start`, in TLS if this process has a certificate.

    api_keys: None: requests need none. wait_s: for how long a connection may wait for its client. most: connections; 0:
    by `most_connections`. Raises BadKeys.
    """

    def __init__(
        self,
        engine: Engine,
        serving: ServingRecipe,
        api_keys: KeyFile | None = None,
        wait_s: float = _WAIT_S,
        most: int = 0,
    ) -> None:
        self._engine = engine
        self._most_bytes = int(serving.max_message_mb * 2**20)
        self._open = 0  # requests and streams
        routes = [
            Route("/v1/audio/transcriptions", _Post(self._transcribe)),
            Route("/v1/models", lambda request: list_models(engine)),
            Route("/v1/models/{name:path}", self._model),
            WebSocketRoute("/v1/stream", self._stream),
            *page_routes(),
            WebSocketRoute("/{path:path}", _nowhere),
        ]
        app = Starlette(routes=routes, exception_handlers={HTTPException: _refuse})
        config = uvicorn.Config(
            KeyedApplication(app, engine, api_keys),
            lifespan="off",
            log_config=None,
            log_level="info",  # at debug it logs headers, and so keys
            access_log=False,
            http="h11",
            ws="websockets-sansio",
            ws_max_size=self._most_bytes,
            ws_ping_interval=_PING_S,
            ws_ping_timeout=None,
            ws_per_message_deflate=False,  # kilobytes would inflate to megabytes, before they are read
            timeout_keep_alive=int(_KEPT_S),
            server_header=False,
        )
        config.load()
        config.ssl = server_context(process_keys())  # its own options take the names of files
        self._server = BoundedServer(config, wait_s, most or most_connections(serving.max_streams))

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port; raises Unavailable if it is taken."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE.items():
            listening.setsockopt(socket.IPPROTO_TCP, option, value)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT)
        try:
            listening.bind((host, port))
        except OSError as error:
            listening.close()
            raise Unavailable(f"{host}:{port}: cannot listen for HTTP: {error.strerror}; give another port") from error
        self._task = asyncio.create_task(self._server.serve([listening]))
        while not self._server.started:
            if self._task.done():
                self._task.result()
                raise Unavailable(f"{host}:{port}: HTTP did not start")
            await asyncio.sleep(_LOOK_EVERY_S)
        return int(listening.getsockname()[1])

    async def stop(self, grace_s: float) -> None:
        """Wait up to `grace_s` seconds until no request and no stream is open; close the port and the connections."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while self._open:
                    await asyncio.sleep(_LOOK_EVERY_S)
        self._server.should_exit = True
        await asyncio.wait({self._task}, timeout=_STOP_S)
        self._server.force_exit = True
        self._server.connections.abort_all()
        await self._task

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _transcribe(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def tell(message: Message) -> None:
            nonlocal begun
            begun = True
            await self._engine.answered(send(message))

        with self._counted():
            try:
                await transcribe(self._engine, self._most_bytes, scope, receive, tell)
            except SonorantError as error:
                status, headers, content = error_answer(self._engine, error)
                if begun:
                    raise
                await linger(receive)
                await JSONResponse(content, status, headers)(scope, receive, tell)
            except ClientDisconnect:
                pass
            except Exception as error:
                log.error("request_failed", exc_info=error)
                if begun:
                    raise
                status, headers, content = error_answer(self._engine, SonorantError(FAULT))
                await JSONResponse(content, status, headers)(scope, receive, tell)

    def _model(self, request: Request) -> Response:
        try:
            return show_model(self._engine, request.path_params["name"])
        except SonorantError as error:
            status, headers, content = error_answer(self._engine, error)
            return JSONResponse(content, status, headers)

    async def _stream(self, client: WebSocket) -> None:
        with self._counted(), suppress(WebSocketDisconnect):
            await serve_stream(self._engine, client)


class _Post:
    """An application for the method POST; a class, which Starlette takes for one."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "POST":
            raise HTTPException(405, headers={"Allow": "POST"})
        await self._application(scope, receive, send)


def _refuse(request: Request, error: Exception) -> Response:
    """Answer what no route takes."""
    assert isinstance(error, HTTPException)
    return _refusal(f"{request.method} {request.url.path}: {error.detail}", error.status_code, error.headers)


async def _nowhere(client: WebSocket) -> None:
    """Answer a WebSocket's handshake with 404, in place of Starlette's 403, which sounds like a missing key."""
    await client.send_denial_response(_refusal(f"{client.url.path}: no WebSocket there; it is /v1/stream", 404))


def _refusal(message: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    content = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return JSONResponse(content, status, headers)
