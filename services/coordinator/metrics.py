"""The coordinator's Prometheus metrics."""

from collections import Counter
from collections.abc import Iterator, Sequence

from prometheus_client import Metric

from services.coordinator.control import ControlPlane
from services.process.metrics import counter, counters, gauge, gauges
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["coordinator_metrics"]


def coordinator_metrics(control: ControlPlane, now: float) -> Iterator[Metric]:
    """Yield the coordinator's metrics; of the ledger, as of its last refresh."""
    status, done = control.status(now), control.tallies()
    living = Counter(replica.stage for replica in status.replicas)
    yield gauges("sonorant_coordinator_replicas", "Living replicas.", "stage", living)
    yield counters(
        "sonorant_coordinator_rejected_examples_total", "Examples that a stage rejected.", "stage", status.rejected
    )
    yield counter("sonorant_coordinator_leases_total", "Leases given.", done.leases)
    yield counter("sonorant_coordinator_leased_examples_total", "Examples in these leases.", done.leased)
    yield counter(
        "sonorant_coordinator_reissued_examples_total", "Examples leased again, since they may be lost.", done.reissued
    )
    yield counters(
        "sonorant_coordinator_duplicates_refused_total",
        "Second copies refused before training, by the ledger, or by the rank that had the first copy.",
        "by",
        {"ledger": done.refused, "rank": done.dropped},
    )
    yield gauge("sonorant_coordinator_generation", "Generation of the trainers' gang.", status.generation)
    if status.HasField("t_session"):
        yield gauge(
            "sonorant_coordinator_t_session_ratio", "Of the rank that waits least for the others.", status.t_session
        )
    yield from _epoch_metrics(status.epochs)


def _epoch_metrics(epochs: Sequence[pb.EpochProgress]) -> Iterator[Metric]:
    """Yield how far the epoch is that is trained on: the oldest that is not whole, or else the newest."""
    open_ones = (e for e in epochs if e.committed + e.rejected < e.total)
    epoch = next(open_ones, epochs[-1] if epochs else None)
    if epoch is None:
        return
    yield gauge("sonorant_coordinator_epoch", "Epoch that is trained on, from 0.", epoch.epoch)
    yield gauges(
        "sonorant_coordinator_epoch_examples",
        "Examples of this epoch: all, claimed for a step, committed with it, rejected, and on their way.",
        "state",
        {state: getattr(epoch, state) for state in ("total", "claimed", "committed", "rejected", "outstanding")},
    )
