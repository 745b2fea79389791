"""Readiness of a recognizer without a model: a release must become ready while it waits for its first one."""

import socket
from contextlib import suppress

from services.process.health import HealthServer

__all__ = ["Waiting", "nobody_serves"]

_TIMEOUT_S = 1.0


class Waiting:
    """A replica without a model is ready, unless one with a model serves behind the same Service.

    A rolling update would replace that one.

    service: HOST:PORT of that Service; empty: never ready without a model, as without `health`.
    """

    def __init__(self, health: HealthServer | None, service: str) -> None:
        self._health = health
        self._service = service
        self.exports_known = True
        """Whether the models' store answered."""

    def goes_on(self) -> None:
        """Note that no model is there."""
        if self._health is not None and self._service:
            self._health.ready(self.exports_known and nobody_serves(self._service))

    def ends(self) -> None:
        """Note that a model is being loaded: not ready until that is done."""
        if self._health is not None:
            self._health.ready(False)
        self._health = None


def nobody_serves(address: str) -> bool:
    """Return whether connections to HOST:PORT are refused: replicas without a model do not listen. False if unknown."""
    host, _, port = address.rpartition(":")
    with suppress(OSError, ValueError):
        try:
            socket.create_connection((host, int(port)), _TIMEOUT_S).close()
        except ConnectionRefusedError:
            return True
    return False
