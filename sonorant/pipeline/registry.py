"""Who is there: replicas by stage, when they were last heard, and what they measured."""

from collections import deque
from dataclasses import dataclass, field

__all__ = ["Load", "Registry", "Replica"]

_WINDOW_S = 5.0  # span over which rates and utilisation are averaged


@dataclass(frozen=True, slots=True)
class Load:
    """What a replica measured since its last heartbeat: seconds at work and passed, examples and audio handed on."""

    busy_s: float = 0.0
    elapsed_s: float = 0.0
    examples: int = 0
    audio_s: float = 0.0


@dataclass
class Replica:
    """One replica of a stage; times are those of the caller's monotonic clock, in seconds."""

    stage: str
    name: str
    endpoint: str
    heard_s: float
    queued: int = 0
    draining: bool = False
    loads: deque[Load] = field(default_factory=deque)

    @property
    def utilisation(self) -> float:
        """Busy time divided by elapsed time, over the last seconds, in [0, 1]."""
        elapsed_s = sum(load.elapsed_s for load in self.loads)
        return min(1.0, sum(load.busy_s for load in self.loads) / elapsed_s) if elapsed_s > 0 else 0.0

    @property
    def examples_per_second(self) -> float:
        """Examples handed on per second, over the last seconds."""
        elapsed_s = sum(load.elapsed_s for load in self.loads)
        return sum(load.examples for load in self.loads) / elapsed_s if elapsed_s > 0 else 0.0

    @property
    def left_cleanly(self) -> bool:
        """True if it had said that it drains and holds nothing any more: its silence is no death."""
        return self.draining and self.queued == 0

    def note(self, load: Load) -> None:
        """Add a measurement, and drop those older than the window."""
        self.loads.append(load)
        while sum(kept.elapsed_s for kept in self.loads) - self.loads[0].elapsed_s >= _WINDOW_S:
            self.loads.popleft()


class Registry:
    """The replicas that live; one that is silent for `dead_after_s` does not."""

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._replicas: dict[str, Replica] = {}

    def register(self, stage: str, replica: str, endpoint: str, now: float) -> None:
        """Note a replica; again is harmless and counts as a heartbeat."""
        known = self._replicas.get(replica)
        if known is not None and (known.stage, known.endpoint) == (stage, endpoint):
            known.heard_s = now
        else:
            self._replicas[replica] = Replica(stage, replica, endpoint, now)

    def heartbeat(self, replica: str, load: Load, queued: int, draining: bool, now: float) -> bool:
        """Note a sign of life; returns False if the replica is unknown and has to register (again)."""
        known = self._replicas.get(replica)
        if known is None:
            return False
        known.heard_s, known.queued, known.draining = now, queued, draining
        known.note(load)
        return True

    def expire(self, now: float) -> list[Replica]:
        """Forget and return the replicas that were silent for too long."""
        silent = [r for r in self._replicas.values() if now - r.heard_s >= self._dead_after_s]
        for replica in silent:
            del self._replicas[replica.name]
        return silent

    def endpoints(self, stage: str) -> tuple[str, ...]:
        """Return where a stage's replicas serve, sorted; those that drain still hand on what they hold."""
        return tuple(sorted(r.endpoint for r in self._replicas.values() if r.stage == stage and r.endpoint))

    def replicas(self) -> list[Replica]:
        """Return all living replicas, by stage and name."""
        return sorted(self._replicas.values(), key=lambda r: (r.stage, r.name))

    def __contains__(self, replica: str) -> bool:
        return replica in self._replicas
