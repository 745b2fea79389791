"""Scale to 0 at the end of training, and back when the recipe has more epochs."""

from collections.abc import Mapping

import structlog

from services.autoscaler.cluster import Cluster, Workload
from sonorant.capacity.rest import Rest

__all__ = ["Resting"]

log = structlog.get_logger()


class Resting:
    """Scales `workloads` by `rest`; an annotation of the lease keeps the state over restarts and leaders."""

    def __init__(self, cluster: Cluster, lease: str, workloads: Mapping[str, Workload], rest: Rest) -> None:
        self._cluster = cluster
        self._lease = lease
        self._workloads = workloads
        self._rest = rest
        self._resting: bool | None = None  # the lease's annotation; None: not read yet

    def forget(self) -> None:
        """Drop the cached annotation: another leader may change it."""
        self._resting = None

    def iterate(self, complete: bool | None) -> bool:
        """Scale workloads to 0 or back; return whether all rest. complete: None if unknown.

        Raises Unavailable; the next iteration does what is left.
        """
        if self._resting is None:
            self._resting = self._cluster.is_resting(self._lease)
        if complete is None:
            return self._resting
        if complete and not self._resting:  # first: the next leader must distinguish rest from a scale set by hand
            self._note(True)
        scales = {name: self._cluster.scale(workload) for name, workload in self._workloads.items()}
        replicas = {name: scale.replicas for name, scale in scales.items()}
        for name, count in self._rest.changes(complete, bool(self._resting), replicas).items():
            workload = self._workloads[name]
            self._cluster.set_replicas(workload, count)
            why = "training is complete" if complete else "training goes on"
            log.info("scaled", workload=workload.name, replicas=count, before=replicas[name], because=why)
            message = f"{replicas[name]} to {count} replicas: {why}"
            self._cluster.write_event(workload, scales[name].uid, "Scaled", message)
        if self._resting and not complete:
            self._note(False)
        return complete

    def _note(self, resting: bool) -> None:
        self._cluster.note_resting(self._lease, resting)
        self._resting = resting
