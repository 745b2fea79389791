"""HTTP's connections: those that wait for their clients are released in time, and their number is bounded."""

import asyncio
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import structlog
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

__all__ = ["BoundedServer", "Connections", "most_connections"]

log = structlog.get_logger()

_SPARE = 256  # connections beside streams: for requests without a slot, and clients that are refused
_OF_DESCRIPTORS = 0.75  # of the process' limit; the rest is gRPC's, models' and logs'
_LOOKS = 10  # in the longest wait
_TICK_S = 0.1  # uvicorn's
_MOST_UNREAD = 1 << 23  # bytes; more than any answer: pings are answered whether the answers are read or not
_ROOM = 16  # a 16th of the connections is released at once, so that a flood costs a look for each 16th alone
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: what the kernel has for a client that does not read is dropped too


def most_connections(max_streams: int) -> int:
    """Return how many connections may be open: one for each stream, and some, if the process has the descriptors."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max_streams + _SPARE
    return most if descriptors == resource.RLIM_INFINITY else min(most, int(_OF_DESCRIPTORS * descriptors))


@dataclass(slots=True)
class _Wait:
    """What a connection waits for."""

    since_s: float
    cycle: RequestResponseCycle | None  # of the last request
    unread: int  # bytes


class Connections:
    """Aborts connections that wait for their clients: for a whole request, or until what was sent is read.

    For one event loop. While an application serves a connection, and its client reads, the limits are the
    application's. A client that has read some of what waits, or has had another request, begins a new wait.

    opened: uvicorn's protocols, each of an open connection. wait_s: longest wait. most: connections; one more takes the
    places of those that have waited longest.
    """

    def __init__(self, opened: set[Any], wait_s: float, most: int) -> None:
        self._opened = opened
        self._wait_s = wait_s
        self._most = most
        self._waits: dict[Any, _Wait] = {}
        self._aborted: set[Any] = set()  # not yet lost

    def look(self, now_s: float) -> None:
        """Abort the connections that have waited for too long, and those of which too much is unread."""
        self._note(now_s)
        self._abort([one for one, wait in self._waits.items() if now_s - wait.since_s >= self._wait_s])
        unread = {one: one.transport.get_write_buffer_size() for one in self._opened - self._aborted}
        self._abort([one for one, size in unread.items() if size > _MOST_UNREAD])

    def opened(self, connection: H11Protocol, now_s: float) -> None:
        """Let a new connection wait for a request; abort those that have waited longest, if there are too many."""
        self._waits[connection] = _Wait(now_s, None, 0)
        self._aborted &= self._opened
        if len(self._opened) - len(self._aborted) <= self._most:
            return
        self._note(now_s)
        longest = sorted(self._waits, key=lambda one: self._waits[one].since_s)
        self._abort(longest[: max(1, self._most // _ROOM)])

    def abort_all(self) -> None:
        """Abort every connection."""
        self._abort([one for one in self._opened if one not in self._aborted])

    def _note(self, now_s: float) -> None:
        """Note who waits, and since when."""
        self._aborted &= self._opened
        waits = {}
        for one in self._opened:
            if one in self._aborted or not _waits(one):
                continue
            wait = _Wait(now_s, getattr(one, "cycle", None), one.transport.get_write_buffer_size())
            before = self._waits.get(one)
            if before is not None and before.cycle is wait.cycle and before.unread <= wait.unread:
                wait.since_s = before.since_s
            waits[one] = wait
        self._waits = waits

    def _abort(self, connections: list[Any]) -> None:
        for one in connections:
            self._aborted.add(one)
            self._waits.pop(one, None)
            with suppress(OSError):
                one.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            one.transport.abort()
        if connections:
            log.info("connections_aborted", count=len(connections))


def _waits(connection: H11Protocol | WebSocketsSansIOProtocol) -> bool:
    """Return whether a connection waits for its client."""
    if connection.transport.is_closing():  # what was written is to be read yet
        return True
    if isinstance(connection, WebSocketsSansIOProtocol):
        return connection.close_sent  # an open stream has limits of its own
    return connection.cycle is None or connection.cycle.response_complete or connection.flow.write_paused


class _Connection(H11Protocol):
    """A connection that tells when it is open."""

    def __init__(self, opened: Callable[[H11Protocol], None], *state: Any) -> None:
        super().__init__(*state)
        self._opened = opened

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Tell that it is open."""
        super().connection_made(transport)
        self._opened(self)


class BoundedServer(uvicorn.Server):
    """A server whose connections are bounded in time and number; it leaves signals to the process.

    See `Connections`; wait_s also bounds the handshake of TLS, and its end.
    """

    def __init__(self, config: uvicorn.Config, wait_s: float, most: int) -> None:
        super().__init__(config)
        self._wait_s = wait_s
        self.connections = Connections(self.server_state.connections, wait_s, most)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen at the sockets."""
        loop = asyncio.get_running_loop()
        config, state, connections = self.config, self.server_state, self.connections

        def accepted() -> _Connection:
            return _Connection(lambda one: connections.opened(one, loop.time()), config, state, {}, loop)

        tls_s = self._wait_s if config.ssl is not None else None
        await self.lifespan.startup()
        self.servers = [
            await loop.create_server(
                accepted,
                sock=one,
                ssl=config.ssl,
                backlog=config.backlog,
                ssl_handshake_timeout=tls_s,
                ssl_shutdown_timeout=tls_s,
            )
            for one in sockets or []
        ]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Look at the connections now and then; return whether the server is to stop."""
        if counter % max(1, round(self._wait_s / _LOOKS / _TICK_S)) == 0:
            self.connections.look(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield
