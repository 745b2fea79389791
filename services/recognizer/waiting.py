"""Readiness of a recognizer without a model: a release must become ready while it waits for its first one."""

import socket
from contextlib import suppress

from services.process.health import HealthServer

__all__ = ["Waiting", "connection_refused"]

_TIMEOUT_S = 1.0


class Waiting:
    """A replica without a model is ready, unless one with a model serves behind the same Service.

    Otherwise a rolling update would replace the one that serves.

    service: HOST:PORT of that Service; empty: never ready without a model, as without `health`.
    """

    def __init__(self, health: HealthServer | None, service: str) -> None:
        self._health = health
        self._service = service
        self.exports_known = True
        """Whether the models' store answered."""

    def model_missing(self) -> None:
        """Note that no model is there."""
        if self._health is not None and self._service:
            self._health.ready(self.exports_known and connection_refused(self._service))

    def model_found(self) -> None:
        """Note that a model is being loaded: not ready until that is done."""
        if self._health is not None:
            self._health.ready(False)
        self._health = None


def connection_refused(address: str) -> bool:
    """Return whether connections to HOST:PORT are refused: replicas without a model do not listen. False if unknown."""
    host, _, port = address.rpartition(":")
    with suppress(OSError, ValueError):
        try:
            socket.create_connection((host, int(port)), _TIMEOUT_S).close()
        except ConnectionRefusedError:
            return True
    return False
