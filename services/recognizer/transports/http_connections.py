"""HTTP's connections: those that wait for their clients are aborted in time, and their number is bounded."""

import asyncio
import fcntl
import resource
import socket
import struct
import sys
import termios
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import h11
import structlog
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from services.recognizer.transports.connection_limits import ConnectionLimits, Sight

__all__ = ["BoundedServer", "Connections", "most_connections"]

log = structlog.get_logger()

_SPARE = 256  # connections beside streams: for requests without a slot, and clients that are refused
_OF_DESCRIPTORS = 0.75  # of the process' limit; the rest is gRPC's, models' and logs'
_LOOKS = 10  # in the longest wait
_TICK_S = 0.1  # uvicorn's
_MOST_UNREAD = 1 << 23  # bytes; more than any answer: pings are answered whether the answers are read or not
_TLS_END_S = 3600.0  # what TLS flushes as it closes may be read slowly: the looks bound it
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: what the kernel has for a client that does not read is dropped too
_TCP_INFO = struct.Struct("=120xQQ")  # tcpi_bytes_acked and tcpi_bytes_received of Linux's struct tcp_info, since 4.1


def most_connections(max_streams: int) -> int:
    """Return how many connections may be open: one for each stream, and some, if the process has the descriptors."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max_streams + _SPARE
    return most if descriptors == resource.RLIM_INFINITY else min(most, int(_OF_DESCRIPTORS * descriptors))


class Connections:
    """Aborts connections by `ConnectionLimits`.

    For one event loop. While an application serves a connection, and its client reads, the limits are the
    application's.

    served: uvicorn's protocols, each of an open connection, in TLS from the end of its handshake on. wait_s: longest
    wait. most: connections; one more takes the places of those that have waited longest.
    """

    def __init__(self, served: set[Any], wait_s: float, most: int) -> None:
        self._served = served
        self._aborted: set[Any] = set()  # not yet lost
        self._most = most
        self._limits: ConnectionLimits[Any] = ConnectionLimits(wait_s, most, _MOST_UNREAD)

    def look(self, now_s: float) -> None:
        """Abort the connections that have waited for too long, and those of which too much is unread."""
        connections = self._open()
        overdue = self._limits.overdue(self._sights(connections), now_s)
        for reason in sorted(set(overdue.values())):
            self._abort([one for one in overdue if overdue[one] == reason], reason)

    def opened(self, connection: H11Protocol, now_s: float) -> None:
        """Let a new connection wait; abort those that have waited longest, if there are too many."""
        self._limits.begin(connection, now_s)
        connections = self._open()
        if len(connections) > self._most:
            sights = self._sights([one for one in connections if _awaits_client(one)])
            self._abort(self._limits.surplus(sights, connection, now_s), "too_many")

    def abort_all(self) -> None:
        """Abort every connection."""
        self._abort(self._open(), "stopped")

    def _open(self) -> set[Any]:
        self._aborted &= self._served
        return self._served - self._aborted

    def _sights(self, connections: Collection[Any]) -> dict[Any, Sight]:
        """Return what is seen of connections; abort those that cannot be measured, so that the others are."""
        sights, odd = {}, []
        for one in connections:
            try:
                sights[one] = _sight(one)
            except Exception as error:
                log.warning("connection_not_measured", error=repr(error))
                odd.append(one)
        self._abort(odd, "not_measured")
        return sights

    def _abort(self, connections: Collection[Any], reason: str) -> None:
        for one in connections:
            self._aborted.add(one)
            with suppress(OSError, ValueError, AttributeError):  # lost, and HTTP is not told yet
                one.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            one.transport.abort()
        if connections:
            log.info("connections_aborted", count=len(connections), reason=reason)


def _awaits_client(connection: Any) -> bool:
    """Return whether a connection waits for its client."""
    if connection.transport.is_closing():  # what was written is to be read yet
        return True
    if isinstance(connection, WebSocketsSansIOProtocol):
        return connection.close_sent  # an open stream has limits of its own
    return connection.cycle is None or connection.cycle.response_complete or connection.flow.write_paused


def _drains(connection: Any) -> bool:
    """Return whether the rest of a body arrives whose request is answered."""
    if not isinstance(connection, H11Protocol) or connection.transport.is_closing() or connection.cycle is None:
        return False
    return connection.cycle.response_complete and connection.conn.their_state is h11.SEND_BODY


def _sight(connection: Any) -> Sight:
    kernel = connection.transport.get_extra_info("socket")
    unread = connection.transport.get_write_buffer_size() + _queued(kernel)
    acknowledged, received = _acknowledged_and_received(kernel)
    drained = received if _drains(connection) else 0
    return Sight(_awaits_client(connection), getattr(connection, "cycle", None), unread, acknowledged, drained)


def _queued(kernel: Any) -> int:
    """Return how many bytes the kernel holds that the client has not acknowledged; 0 where it does not tell."""
    with suppress(OSError):
        return int.from_bytes(fcntl.ioctl(kernel.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    return 0


def _acknowledged_and_received(kernel: Any) -> tuple[int, int]:
    """Return how many bytes the client has acknowledged and sent, in all; zeros where the kernel does not count."""
    with suppress(OSError):
        info = kernel.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        if len(info) == _TCP_INFO.size:
            return _TCP_INFO.unpack(info)
    return 0, 0


class _Connection(H11Protocol):
    """A connection that tells when it is open."""

    def __init__(self, connections: Connections, *state: Any) -> None:
        super().__init__(*state)
        self._connections = connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Tell that it is open."""
        super().connection_made(transport)
        self._connections.opened(self, self.loop.time())


class BoundedServer(uvicorn.Server):
    """A server whose connections are bounded in time and number; it leaves signals to the process.

    See `Connections`; wait_s also bounds the handshake of TLS.
    """

    def __init__(self, config: uvicorn.Config, wait_s: float, most: int) -> None:
        super().__init__(config)
        self._wait_s = wait_s
        self.connections = Connections(self.server_state.connections, wait_s, most)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen at the sockets."""
        loop = asyncio.get_running_loop()
        config, state = self.config, self.server_state

        def protocol() -> _Connection:
            return _Connection(self.connections, config, state, {}, loop)

        secured = config.ssl is not None
        await self.lifespan.startup()
        self.servers = [
            await loop.create_server(
                protocol,
                sock=one,
                ssl=config.ssl,
                backlog=config.backlog,
                ssl_handshake_timeout=self._wait_s if secured else None,
                ssl_shutdown_timeout=_TLS_END_S if secured else None,
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
