"""Faults on links, counted for `sonorant status` and metrics, and logged at a bounded rate."""

import structlog

from sonorant.links.wire import BadMessage

__all__ = ["LinkFaults"]

log = structlog.get_logger()


class LinkFaults:
    """Counts messages that were dropped, and connections that ended without BYE; any thread may read it."""

    def __init__(self) -> None:
        self._dropped = 0
        self._ended = 0

    @property
    def total(self) -> int:
        """All of them, since the replica began."""
        return self._dropped + max(0, self._ended)

    def drop(self, error: BadMessage, **where: str) -> None:
        """Count a malformed message, and log the 1st, 2nd, 4th, 8th …: a faulty peer sends many."""
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:
            log.warning("message_dropped", **where, error=str(error), dropped=self._dropped)

    def end(self) -> None:
        """Count a connection that ended."""
        self._ended += 1

    def excuse(self) -> None:
        """Take back one end, past or to come: it is no fault."""
        self._ended -= 1
