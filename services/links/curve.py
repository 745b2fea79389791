"""CurveZMQ on links: what they carry is encrypted, and only who has the fleet's key sends or receives."""

import structlog
import zmq
from zmq.auth.thread import ThreadAuthenticator

from services.process.keys import CurvePair

__all__ = ["Doorkeeper", "present"]

log = structlog.get_logger()


def present(socket: zmq.Socket[bytes], pair: CurvePair) -> None:
    """Let a socket that connects show the fleet's key, and ask for it."""
    socket.curve_serverkey = socket.curve_publickey = pair.public
    socket.curve_secretkey = pair.secret


class Doorkeeper:
    """Lets in who has the fleet's key, and writes down who has not; one for a context."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], pair: CurvePair) -> None:
        self._pair = pair
        self._authenticator = ThreadAuthenticator(context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(credentials_provider=self)

    def guard(self, socket: zmq.Socket[bytes]) -> None:
        """Let a socket that is about to be bound take nobody without the key."""
        socket.curve_server = True
        socket.curve_secretkey = self._pair.secret

    def callback(self, _domain: str, key: bytes) -> bool:
        """Answer ZeroMQ whether a key is good (`zmq.auth`)."""
        good = key == self._pair.public
        if not good:
            log.warning("link_refused", reason="it has another key than the fleet's")
        return good

    def close(self) -> None:
        """Let nobody in any more."""
        self._authenticator.stop()
