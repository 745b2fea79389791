"""CurveZMQ on links: encryption, and authentication by the fleet's key."""

import structlog
import zmq
from zmq.auth.thread import ThreadAuthenticator

from services.process.keys import CurvePair

__all__ = ["Authenticator", "present"]

log = structlog.get_logger()


def present(socket: zmq.Socket[bytes], pair: CurvePair) -> None:
    """Make a connecting socket present the fleet's key, and require it."""
    socket.curve_serverkey = socket.curve_publickey = pair.public
    socket.curve_secretkey = pair.secret


class Authenticator:
    """Accepts peers with the fleet's key, and logs refused ones; one for a context."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], pair: CurvePair) -> None:
        self._pair = pair
        self._authenticator = ThreadAuthenticator(context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(credentials_provider=self)

    def guard(self, socket: zmq.Socket[bytes]) -> None:
        """Make a socket that is about to be bound refuse peers without the key."""
        socket.curve_server = True
        socket.curve_secretkey = self._pair.secret

    def callback(self, _domain: str, key: bytes) -> bool:
        """Return whether a key is valid, for ZeroMQ (`zmq.auth`)."""
        good = key == self._pair.public
        if not good:
            log.warning("link_refused", reason="it has another key than the fleet's")
        return good

    def close(self) -> None:
        """Accept no more peers."""
        self._authenticator.stop()
