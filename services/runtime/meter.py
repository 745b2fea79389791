"""What a replica did since its last heartbeat."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable

from services.runtime.durations import duration, seconds
from sonorant.pipeline.example import Lineage
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["Meter", "record_sets"]


class Meter:
    """Counts from any thread; a heartbeat takes the counts, and puts them back if it does not get through.

    queued: called at each heartbeat, says how many examples wait in the replica.
    link_faults: likewise, says how many faults its links have had.
    wanted: likewise, says how many examples a rank of the trainer has room for.
    """

    def __init__(
        self,
        queued: Callable[[], int] = lambda: 0,
        link_faults: Callable[[], int] = lambda: 0,
        wanted: Callable[[], int] = lambda: 0,
    ) -> None:
        self._lock = threading.Lock()
        self._busy_s = 0.0
        self._waited_s = 0.0
        self._audio_s = 0.0
        self._examples = 0
        self._broken_links = 0
        self._arrived: list[Lineage] = []
        self._dropped: Counter[int] = Counter()
        self._figures: dict[str, float] = {}
        self.queued = queued
        self._link_faults = link_faults
        self._wanted = wanted
        self.generation = 0
        self.draining = False

    def worked(self, busy_s: float) -> None:
        """Count time at work: all that is not waiting."""
        with self._lock:
            self._busy_s += busy_s

    def waited(self, waited_s: float) -> None:
        """Count time that a rank of the trainer waited for its batch."""
        with self._lock:
            self._waited_s += waited_s

    def handed_on(self, examples: int, audio_s: float) -> None:
        """Count examples that left, or that were trained on, and their audio."""
        with self._lock:
            self._examples += examples
            self._audio_s += audio_s

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
        """Count a link that ended without a goodbye: examples may have been lost on it."""
        with self._lock:
            self._broken_links += 1

    def show(self, figures: dict[str, float]) -> None:
        """Set figures that `sonorant status` shows."""
        with self._lock:
            self._figures.update(figures)

    def take(self, replica: str, elapsed_s: float) -> pb.HeartbeatRequest:
        """Return the next heartbeat, and count from zero."""
        with self._lock:
            request = pb.HeartbeatRequest(
                replica=replica,
                busy=duration(self._busy_s),
                elapsed=duration(elapsed_s),
                examples=self._examples,
                audio=duration(self._audio_s),
                queued=self.queued(),
                generation=self.generation,
                arrived=record_sets(self._arrived),
                figures=self._figures,
                draining=self.draining,
                broken_links=self._broken_links,
                dropped=self._dropped,
                link_faults=self._link_faults(),
                wanted=self._wanted(),
                waited=duration(self._waited_s),
            )
            self._busy_s = self._audio_s = self._waited_s = 0.0
            self._examples = self._broken_links = 0
            self._arrived = []
            self._dropped.clear()
        return request

    def restore(self, request: pb.HeartbeatRequest) -> None:
        """Put back what a heartbeat took that did not get through; reporting an arrival twice is harmless."""
        with self._lock:
            self._busy_s += seconds(request.busy)
            self._audio_s += seconds(request.audio)
            self._waited_s += seconds(request.waited)
            self._examples += request.examples
            self._broken_links += request.broken_links
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
