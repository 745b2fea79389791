"""Who was heard from, and when: a peer that is silent for too long is dead."""

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Liveness"]

Peer = TypeVar("Peer", bound=Hashable)


class Liveness(Generic[Peer]):
    """Deadlines of peers; any message counts. Times are monotonic seconds."""

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
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
        return [peer for peer, deadline_s in self._deadlines.items() if deadline_s <= now_s]

    @property
    def next_s(self) -> float:
        """When the next peer's time is up, or infinity."""
        return min(self._deadlines.values(), default=float("inf"))
