"""The registry: living replicas by stage, their last heartbeat, and their measurements."""

from collections import deque
from dataclasses import dataclass, field

__all__ = ["MOST_BEATS", "MOST_REPLICAS", "Load", "Registry", "Replica"]

_WINDOW_S = 5.0  # span over which rates and utilisation are averaged
_MOST_LOADS = 64  # measurements kept of it, however short they are
MOST_REPLICAS = 100_000
MOST_BEATS = 1_000  # heartbeats a second: less than half of what one core of a coordinator can answer


@dataclass(frozen=True, slots=True)
class Load:
    """What a replica measured since its last heartbeat: seconds at work and passed, examples and audio handed on.

    waited_s: that a rank waited for its batches; cpu_s: CPU time of the thread at work, None if that is not measured.
    """

    busy_s: float = 0.0
    elapsed_s: float = 0.0
    examples: int = 0
    audio_s: float = 0.0
    waited_s: float = 0.0
    cpu_s: float | None = None


@dataclass
class Replica:
    """One replica of a stage; times are those of the caller's monotonic clock, in seconds."""

    stage: str
    name: str
    endpoint: str
    last_beat_s: float
    arithmetic: str = ""  # replicas of a stage that differ in it compute different bits
    dead_s: float = 0.0  # when it counts as dead without another heartbeat
    queued: int = 0
    draining: bool = False
    link_faults: int = 0
    wanted: int = 0
    busy_s: float = 0.0  # in all heartbeats, as the next three
    waited_s: float = 0.0
    examples: int = 0
    cpu_s: float | None = None  # of heartbeats that had it
    loads: deque[Load] = field(default_factory=deque)
    _measured_s: float = 0.0  # in all of `loads`

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
        """True if it reported that it drains and is empty: the end of its heartbeats is no failure."""
        return self.draining and self.queued == 0

    @property
    def t_session(self) -> float | None:
        """Of a rank: time in steps / (that + time waited), over the last seconds; None if it trained on nothing."""
        busy_s, waited_s = sum(load.busy_s for load in self.loads), sum(load.waited_s for load in self.loads)
        return busy_s / (busy_s + waited_s) if busy_s > 0 else None

    def note(self, load: Load) -> None:
        """Add a measurement, and drop those older than the window."""
        self.busy_s += load.busy_s
        self.waited_s += load.waited_s
        self.examples += load.examples
        if load.cpu_s is not None:
            self.cpu_s = (self.cpu_s or 0.0) + load.cpu_s
        self.loads.append(load)
        self._measured_s += load.elapsed_s
        while self._measured_s - self.loads[0].elapsed_s >= _WINDOW_S or len(self.loads) > _MOST_LOADS:
            self._measured_s -= self.loads.popleft().elapsed_s


class Registry:
    """The living replicas; one without a heartbeat for too long is removed.

    heartbeat_s: time between a replica's heartbeats, in a fleet that is not too large for it; dead_after_s: silence
    that counts as death then. Whatever the fleet's size, at most `MOST_BEATS` heartbeats come a second: the more
    replicas there are, the longer are both times.
    """

    def __init__(self, heartbeat_s: float, dead_after_s: float) -> None:
        self._heartbeat_s = heartbeat_s
        self._dead_after_s = dead_after_s
        self._replicas: dict[str, Replica] = {}
        self._endpoints: dict[str, tuple[str, ...]] = {}  # by stage, computed since the last change
        self.changes = 0  # how often endpoints may have changed

    @property
    def heartbeat_s(self) -> float:
        """Time between two heartbeats that a replica is to keep now."""
        return max(self._heartbeat_s, len(self._replicas) / MOST_BEATS)

    def register(self, stage: str, replica: str, endpoint: str, now: float, arithmetic: str = "") -> bool:
        """Note a replica; idempotent, and a sign of life. False if there are too many."""
        known = self._replicas.get(replica)
        if known is None and len(self._replicas) >= MOST_REPLICAS:
            return False
        if known is None or (known.stage, known.endpoint) != (stage, endpoint):
            known = self._replicas[replica] = Replica(stage, replica, endpoint, now, arithmetic)
            self._changed()
        self._extend(known, now)
        return True

    def heartbeat(
        self,
        replica: str,
        load: Load,
        queued: int,
        draining: bool,
        now: float,
        link_faults: int = 0,
        wanted: int = 0,
    ) -> bool:
        """Note a sign of life; returns False if the replica is unknown and has to register (again)."""
        known = self._replicas.get(replica)
        if known is None:
            return False
        self._extend(known, now)
        known.queued, known.draining, known.link_faults, known.wanted = queued, draining, link_faults, wanted
        known.note(load)
        return True

    def expire(self, now: float) -> list[Replica]:
        """Forget and return the replicas that were silent for too long."""
        silent = [r for r in self._replicas.values() if now >= r.dead_s]
        for replica in silent:
            del self._replicas[replica.name]
        if silent:
            self._changed()
        return silent

    def endpoints(self, stage: str) -> tuple[str, ...]:
        """Return where a stage's replicas serve, sorted; those that drain still hand on what they hold."""
        if stage not in self._endpoints:
            found = sorted(r.endpoint for r in self._replicas.values() if r.stage == stage and r.endpoint)
            self._endpoints[stage] = tuple(found)
        return self._endpoints[stage]

    def replicas(self) -> list[Replica]:
        """Return all living replicas, by stage and name."""
        return sorted(self._replicas.values(), key=lambda r: (r.stage, r.name))

    def _extend(self, replica: Replica, now: float) -> None:
        """Extend a replica's deadline, in proportion to the heartbeat interval of the answer."""
        replica.last_beat_s = now
        replica.dead_s = now + self._dead_after_s * self.heartbeat_s / self._heartbeat_s

    def _changed(self) -> None:
        self._endpoints.clear()
        self.changes += 1

    def __contains__(self, replica: str) -> bool:
        return replica in self._replicas
