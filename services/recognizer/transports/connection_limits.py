"""Which connections are aborted: those that wait for their clients for too long, and those that are too many."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["ConnectionLimits", "Sight"]

_ROOM = 16  # a 16th of the connections is aborted at once, so that a flood costs a look for each 16th alone
_DRAIN_S = 300.0

Connection = TypeVar("Connection", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look finds of a connection.

    awaits_client: it waits for a whole request, or until what was sent is read. request: the last one. unread: bytes
    sent, which the client has not acknowledged. acknowledged: bytes since the connection's beginning. drained: bytes
    received since then, while the body of an answered request still arrives, otherwise 0.
    """

    awaits_client: bool
    request: object = None
    unread: int = 0
    acknowledged: int = 0
    drained: int = 0


@dataclass(frozen=True, slots=True)
class _Wait:
    """A connection's wait for its client, for one request or its answer, and the last progress that the client made."""

    began_s: float
    progress_s: float
    sight: Sight


class ConnectionLimits(Generic[Connection]):
    """Decides which connections are aborted: sights and the time in, connections out.

    A client makes progress when it has another request, has read some of what was unread, or sends more of a body that
    is answered already: many send all before they read. What is acknowledged while nothing is unread is no progress:
    TLS answers a client's renewal of keys.

    wait_s: longest time without progress. most: connections. most_unread: bytes. drain_s: how long the rest of an
    answered body may be progress.
    """

    def __init__(self, wait_s: float, most: int, most_unread: int, drain_s: float = _DRAIN_S) -> None:
        self._wait_s = wait_s
        self._most = most
        self._most_unread = most_unread
        self._drain_s = drain_s
        self._waits: dict[Connection, _Wait] = {}

    def begin(self, connection: Connection, now_s: float) -> None:
        """Let a new connection wait for its first request."""
        self._waits[connection] = _Wait(now_s, now_s, Sight(awaits_client=True))

    def overdue(self, sights: Mapping[Connection, Sight], now_s: float) -> dict[Connection, str]:
        """Return the connections that are beyond a limit, with its name; `sights` are of all that are open."""
        self._note(sights, now_s)
        waited = {one: "waited" for one, wait in self._waits.items() if now_s - wait.progress_s >= self._wait_s}
        return waited | {one: "unread" for one, sight in sights.items() if sight.unread > self._most_unread}

    def surplus(self, sights: Mapping[Connection, Sight], newcomer: Connection, now_s: float) -> list[Connection]:
        """Return those whose places a newcomer takes, the longest without progress; itself if no other waits.

        sights: of those that wait, at least.
        """
        self._note(sights, now_s)
        others = sorted(self._waits.keys() - {newcomer}, key=lambda one: self._waits[one].progress_s)
        return others[: max(1, self._most // _ROOM)] or [newcomer]

    def _note(self, sights: Mapping[Connection, Sight], now_s: float) -> None:
        waits = {}
        for one, sight in sights.items():
            if sight.awaits_client:
                before = self._waits.get(one)
                if before is None or before.sight.request is not sight.request:
                    waits[one] = _Wait(now_s, now_s, sight)
                else:
                    progress_s = now_s if self._progressed(before, sight, now_s) else before.progress_s
                    waits[one] = _Wait(before.began_s, progress_s, sight)
        self._waits = waits

    def _progressed(self, before: _Wait, now: Sight, now_s: float) -> bool:
        was = before.sight
        if now.unread < was.unread or (was.unread and now.acknowledged > was.acknowledged):
            return True
        return now.drained > was.drained and now_s - before.began_s < self._drain_s
