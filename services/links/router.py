"""A producer's socket: a ROUTER at a TCP port and at the port's local address."""

import structlog
import zmq

from services.links.addresses import local_address
from sonorant.errors import Unavailable

__all__ = ["bind_router", "open_router"]

log = structlog.get_logger()

_HANDSHAKE_MS = 5000
_MAX_CONTROL_BYTES = 1 << 16  # far above any valid one; ZeroMQ closes connections that exceed it


def open_router(context: zmq.Context[zmq.Socket[bytes]], linger_ms: int) -> zmq.Socket[bytes]:
    """Return a ROUTER that raises when a consumer cannot be reached; linger_ms: for the last messages."""
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.ROUTER_MANDATORY, 1)
    router.setsockopt(zmq.LINGER, linger_ms)
    router.setsockopt(zmq.SNDHWM, 0)  # bounded by credit
    router.setsockopt(zmq.MAXMSGSIZE, _MAX_CONTROL_BYTES)
    router.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
    return router


def bind_router(router: zmq.Socket[bytes], host: str, port: int) -> str:
    """Bind a port of `host`, 0: a free one; return the endpoint that consumers connect to.

    Raises Unavailable if it cannot be bound.
    """
    try:
        router.bind(f"tcp://{host}:{port or '*'}")
    except zmq.ZMQError as error:
        raise Unavailable(
            f"host {host}: cannot bind port {port} there ({error}); give an address of this machine and a free port"
        ) from error
    endpoint = router.getsockopt_string(zmq.LAST_ENDPOINT)
    try:
        router.bind(local_address(endpoint))
    except zmq.ZMQError as error:  # consumers on this machine come by TCP, as the others do
        log.warning("no_local_address", endpoint=endpoint, error=str(error))
    return endpoint
