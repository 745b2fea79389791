"""Who was heard from, and when: a peer that is silent for too long is dead."""

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Liveness"]

Peer = TypeVar("Peer", bound=Hashable)


class Liveness(Generic[Peer]):
    """Deadlines of peers; any message counts. Times are monotonic seconds.

    `dead` must be called several times in `dead_after_s`. If it was not, this process itself stood still (a long call
    that keeps Python's lock, a suspended machine), and the peers' messages of that time lie unread: it does not count.
    """

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._looked_s = float("inf")
        self._deadlines: dict[Peer, float] = {}

    def __contains__(self, peer: Peer) -> bool:
        """Whether a sign of life is expected of a peer."""
        return peer in self._deadlines

    def heard(self, peer: Peer, now_s: float) -> None:
        """Note a sign of life."""
        self._deadlines[peer] = now_s + self._dead_after_s

    def forget(self, peer: Peer) -> None:
        """Expect nothing more of a peer."""
        self._deadlines.pop(peer, None)

    def dead(self, now_s: float) -> list[Peer]:
        """Return the peers whose time is up."""
        stood_still_s = now_s - self._looked_s
        self._looked_s = now_s
        if stood_still_s > self._dead_after_s / 2:
            latest_s = now_s + self._dead_after_s
            self._deadlines = {p: min(latest_s, due_s + stood_still_s) for p, due_s in self._deadlines.items()}
        return [peer for peer, deadline_s in self._deadlines.items() if deadline_s <= now_s]

    def next_look_s(self, now_s: float) -> float:
        """When to call `dead` again at the latest; infinity if nothing is expected of anybody."""
        if not self._deadlines:
            return float("inf")
        return min(now_s + self._dead_after_s / 4, *self._deadlines.values())
