"""Counters of a replica: totals since it began, and the delta since its last acknowledged heartbeat."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from services.coordination.durations import duration, seconds
from sonorant.delivery.example import Lineage
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["Meter", "Totals", "record_sets"]


@dataclass
class Totals:
    """Sums since the replica began.

    busy_s: at work; cpu_s: CPU time of the thread that is, 0 if not measured; waited_s: of a rank, for batches;
    steps: of a rank, that had a batch; examples, audio_s: handed on or trained on; rejected: by the replica's own
    stages.
    """

    busy_s: float = 0.0
    cpu_s: float = 0.0
    waited_s: float = 0.0
    steps: int = 0
    examples: int = 0
    audio_s: float = 0.0
    rejected: int = 0
    broken_links: int = 0


class Meter:
    """Counts from any thread; a heartbeat carries the delta since the last acknowledged one.

    queued: called at each heartbeat, returns the number of examples that wait in the replica.
    link_faults: likewise, the number of faults on its links.
    wanted: likewise, the number of a rank's free slots.
    These attributes may be set after construction, before the first heartbeat.
    """

    def __init__(
        self,
        queued: Callable[[], int] = lambda: 0,
        link_faults: Callable[[], int] = lambda: 0,
        wanted: Callable[[], int] = lambda: 0,
    ) -> None:
        self._lock = threading.Lock()
        self._totals = Totals()
        self._reported = Totals()
        self._arrived: list[Lineage] = []
        self._dropped: Counter[int] = Counter()
        self._figures: dict[str, float] = {}
        self.queued = queued
        self.link_faults = link_faults
        self.wanted = wanted
        self.generation = 0
        self.draining = False

    def totals(self) -> Totals:
        """Return the sums as they are now."""
        with self._lock:
            return replace(self._totals)

    def figures(self) -> dict[str, float]:
        """Return the figures that were set."""
        with self._lock:
            return dict(self._figures)

    def worked(self, busy_s: float, cpu_s: float = 0.0) -> None:
        """Count time at work, all that is not waiting, and the CPU time in it."""
        with self._lock:
            self._totals.busy_s += busy_s
            self._totals.cpu_s += cpu_s

    def waited(self, waited_s: float) -> None:
        """Count time that a rank of the trainer waited for its batch."""
        with self._lock:
            self._totals.waited_s += waited_s

    def stepped(self) -> None:
        """Count a step of the trainer."""
        with self._lock:
            self._totals.steps += 1

    def handed_on(self, examples: int, audio_s: float) -> None:
        """Count examples that left, or that were trained on, and their audio."""
        with self._lock:
            self._totals.examples += examples
            self._totals.audio_s += audio_s

    def rejected(self) -> None:
        """Count an example that a stage could not process; it is reported by itself, not with a heartbeat."""
        with self._lock:
            self._totals.rejected += 1

    def arrived(self, lineage: Lineage) -> int:
        """Count an example that reached the trainer; return how many the next heartbeat has to report."""
        with self._lock:
            self._arrived.append(lineage)
            return len(self._arrived)

    def dropped(self, epoch: int) -> None:
        """Count a second copy that the trainer dropped."""
        with self._lock:
            self._dropped[epoch] += 1

    def link_broke(self) -> None:
        """Count a link that ended without BYE: examples may have been lost on it."""
        with self._lock:
            self._totals.broken_links += 1

    def show(self, figures: dict[str, float]) -> None:
        """Set figures that `sonorant status` shows."""
        with self._lock:
            self._figures.update(figures)

    def take(self, replica: str, elapsed_s: float) -> pb.HeartbeatRequest:
        """Return the next heartbeat, and count its deltas as reported."""
        with self._lock:
            now, reported = self._totals, self._reported
            request = pb.HeartbeatRequest(
                replica=replica,
                busy=duration(now.busy_s - reported.busy_s),
                elapsed=duration(elapsed_s),
                examples=now.examples - reported.examples,
                audio=duration(now.audio_s - reported.audio_s),
                queued=self.queued(),
                generation=self.generation,
                arrived=record_sets(self._arrived),
                figures=self._figures,
                draining=self.draining,
                broken_links=now.broken_links - reported.broken_links,
                dropped=self._dropped,
                link_faults=self.link_faults(),
                wanted=self.wanted(),
                waited=duration(now.waited_s - reported.waited_s),
                cpu=duration(now.cpu_s - reported.cpu_s) if now.cpu_s else None,
            )
            self._reported = replace(now)
            self._arrived = []
            self._dropped.clear()
        return request

    def restore(self, request: pb.HeartbeatRequest) -> None:
        """Take back the deltas of a heartbeat that was not acknowledged; reporting an arrival twice is harmless."""
        with self._lock:
            self._reported.busy_s -= seconds(request.busy)
            self._reported.audio_s -= seconds(request.audio)
            self._reported.waited_s -= seconds(request.waited)
            self._reported.cpu_s -= seconds(request.cpu)
            self._reported.examples -= request.examples
            self._reported.broken_links -= request.broken_links
            self._dropped.update(request.dropped)
            self._arrived += [Lineage(r.epoch, r.shard, index) for r in request.arrived for index in r.indexes]


def record_sets(lineages: Iterable[Lineage]) -> list[pb.RecordSet]:
    """Group lineages by epoch and shard."""
    groups: dict[tuple[int, int], list[int]] = {}
    for epoch, shard, index in lineages:
        groups.setdefault((epoch, shard), []).append(index)
    return [
        pb.RecordSet(epoch=epoch, shard=shard, indexes=indexes) for (epoch, shard), indexes in sorted(groups.items())
    ]
