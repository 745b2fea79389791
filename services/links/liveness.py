"""Liveness of a producer's consumers: one that is silent for dead_after_s is dead."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from sonorant.links.life import stood_still_s

__all__ = ["Liveness"]

Peer = TypeVar("Peer", bound=Hashable)


class Liveness(Generic[Peer]):
    """Deadlines of a producer's consumers; any message counts. Times are monotonic seconds.

    `dead` must be called several times in `dead_after_s`; time in which this process stood still does not count.
    """

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._looked_s = float("inf")
        self._deadlines: dict[Peer, float] = {}

    def received(self, peer: Peer, now_s: float) -> None:
        """Note a sign of life."""
        self._deadlines[peer] = now_s + self._dead_after_s

    def forget(self, peer: Peer) -> None:
        """Remove a peer."""
        self._deadlines.pop(peer, None)

    def dead(self, now_s: float) -> list[Peer]:
        """Return the peers whose time is up."""
        still_s = stood_still_s(self._looked_s, self._dead_after_s, now_s)
        self._looked_s = now_s
        if still_s:
            latest_s = now_s + self._dead_after_s
            self._deadlines = {p: min(latest_s, due_s + still_s) for p, due_s in self._deadlines.items()}
        return [peer for peer, deadline_s in self._deadlines.items() if deadline_s <= now_s]

    def next_look_s(self, now_s: float) -> float:
        """When to call `dead` again at the latest; infinity if there is no consumer."""
        if not self._deadlines:
            return float("inf")
        return min(now_s + self._dead_after_s / 4, *self._deadlines.values())
