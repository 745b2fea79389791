"""Readiness of a recognizer that has no model yet: a release is complete while it waits for its first one."""

import socket
from contextlib import suppress

from services.process.health import HealthServer

__all__ = ["Waiting", "nobody_serves"]

_TIMEOUT_S = 1.0


class Waiting:
    """Who waits is ready, unless one with a model serves behind the same Service: a roll-out would take that away.

    service: HOST:PORT of that Service; empty: who waits is not ready, as without `health`.
    """

    def __init__(self, health: HealthServer | None, service: str) -> None:
        self._health = health
        self._service = service
        self.exports_known = True
        """Whether those who have the models could be asked."""

    def goes_on(self) -> None:
        """Note that there is no model."""
        if self._health is not None and self._service:
            self._health.ready(self.exports_known and nobody_serves(self._service))

    def ends(self) -> None:
        """Note that a model is about to be loaded: until that is done, this one is not ready."""
        if self._health is not None:
            self._health.ready(False)
        self._health = None


def nobody_serves(address: str) -> bool:
    """Return whether connections to HOST:PORT are refused: who waits does not listen. False if that cannot be said."""
    host, _, port = address.rpartition(":")
    with suppress(OSError, ValueError):
        try:
            socket.create_connection((host, int(port)), _TIMEOUT_S).close()
        except ConnectionRefusedError:
            return True
    return False
