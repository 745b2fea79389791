"""The end of training: stages and trainer to nothing; and back, when the recipe asks for more."""

from collections.abc import Mapping

import structlog

from services.autoscaler.cluster import Cluster, Workload
from sonorant.capacity.rest import Rest

__all__ = ["Resting"]

log = structlog.get_logger()


class Resting:
    """Scales `workloads` as `rest` says; the lease remembers, over restarts and leaders, that they rest."""

    def __init__(self, cluster: Cluster, lease: str, workloads: Mapping[str, Workload], rest: Rest) -> None:
        self._cluster = cluster
        self._lease = lease
        self._workloads = workloads
        self._rest = rest
        self._resting: bool | None = None  # as the lease says; None: it has not been read

    def forget(self) -> None:
        """Another one leads, and may change what the lease says."""
        self._resting = None

    def iterate(self, complete: bool | None) -> bool:
        """Scale what is to rest or to go on; return whether all rest. complete: None if nobody could say.

        Raises Unavailable; the next iteration does what is left.
        """
        if self._resting is None:
            self._resting = self._cluster.is_resting(self._lease)
        if complete is None:
            return self._resting
        if complete and not self._resting:  # before any is scaled: whoever leads next knows why they have none
            self._note(True)
        scales = {name: self._cluster.scale(workload) for name, workload in self._workloads.items()}
        replicas = {name: scale.replicas for name, scale in scales.items()}
        for name, count in self._rest.changes(complete, bool(self._resting), replicas).items():
            workload = self._workloads[name]
            self._cluster.set_replicas(workload, count)
            why = "training is complete" if complete else "training goes on"
            log.info("scaled", workload=workload.name, replicas=count, before=replicas[name], because=why)
            self._cluster.tell(workload, scales[name].uid, "Scaled", f"{replicas[name]} to {count} replicas: {why}")
        if self._resting and not complete:
            self._note(False)
        return complete

    def _note(self, resting: bool) -> None:
        self._cluster.note_resting(self._lease, resting)
        self._resting = resting
