"""A consumer's connection to one producer: a DEALER, and a monitor that becomes readable when it has ended."""

from dataclasses import dataclass

import structlog
import zmq

from services.links.addresses import nearest_address
from services.links.curve import present
from services.process.keys import CurvePair
from sonorant.links.life import CONNECT_TIMEOUT_S, LinkLife

__all__ = ["Connection", "open_connection"]

log = structlog.get_logger()

_LINGER_MS = 200
_HIGH_WATER = 10_000  # a backstop: credit is what bounds the messages under way
_NEVER_MS = 1 << 30


@dataclass(slots=True)
class Connection:
    """A connection, perhaps not established yet, and the link's life."""

    endpoint: str
    life: LinkLife
    socket: zmq.Socket[bytes]
    monitor: zmq.Socket[bytes]  # readable once the connection has ended

    def send(self, message: bytes) -> None:
        """Send without blocking."""
        try:
            self.socket.send(message, zmq.NOBLOCK)
        except zmq.Again:  # the other end does not read; its silence will end the link
            log.debug("link_stuck", endpoint=self.endpoint)

    def close(self, linger_ms: int = _LINGER_MS) -> None:
        """Close it; linger_ms: for what was sent last."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close(linger=linger_ms)


def open_connection(
    context: zmq.Context[zmq.Socket[bytes]], endpoint: str, life: LinkLife, most_bytes: int, curve: CurvePair | None
) -> Connection | None:
    """Return a connection to an endpoint; None, logged, if it is no valid endpoint. most_bytes: of a message."""
    dealer = context.socket(zmq.DEALER)
    dealer.setsockopt(zmq.LINGER, _LINGER_MS)
    # Messages above the limit are dropped and counted; above twice the limit ZeroMQ closes the connection.
    dealer.setsockopt(zmq.MAXMSGSIZE, 2 * most_bytes)
    dealer.setsockopt(zmq.RCVHWM, _HIGH_WATER)
    dealer.setsockopt(zmq.CONNECT_TIMEOUT, int(CONNECT_TIMEOUT_S * 1000))
    # No reconnection: credit at the producer ends with the link, and only a new HELLO opens another. -1 would do
    # the same, but discard received messages that are not read yet.
    dealer.setsockopt(zmq.RECONNECT_IVL, _NEVER_MS)
    monitor = dealer.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED)
    connection = Connection(endpoint, life, dealer, monitor)
    if curve is not None:
        present(dealer, curve)
    try:
        dealer.connect(nearest_address(endpoint))
    except zmq.ZMQError as error:
        connection.close()
        log.warning("endpoint_refused", endpoint=endpoint, error=str(error))
        return None
    return connection
