"""The autoscaler's metrics: predicted rates beside observed ones."""

from collections.abc import Iterator

from prometheus_client import Metric

from services.autoscaler.scaler import Shown
from services.process.metrics import counters, gauge, gauges

__all__ = ["autoscaler_metrics"]


def autoscaler_metrics(shown: Shown) -> Iterator[Metric]:
    """Yield figures of the latest iteration and counts of all; a standby has no predictions."""
    yield gauge("sonorant_autoscaler_leading", "1 for the leader, 0 for a standby.", shown.leading)
    yield counters("sonorant_autoscaler_turns_total", "Iterations by outcome.", "outcome", shown.iterations)
    yield counters("sonorant_autoscaler_failures_total", "Failed calls, by server.", "who", shown.failures)
    decision = shown.decision
    if decision is None:
        return
    yield gauge("sonorant_autoscaler_held", "1 while replicas are held for lack of measurements.", bool(decision.held))
    yield gauges("sonorant_autoscaler_replicas", "Replicas decided on.", "stage", decision.replicas)
    yield gauges(
        "sonorant_autoscaler_service_seconds",
        "Planned seconds of a replica per example.",
        "stage",
        decision.service_s,
    )
    if decision.demand is not None:
        yield gauge(
            "sonorant_autoscaler_demand_examples_per_second", "Of a trainer that never waits.", decision.demand.rate
        )
        yield gauge(
            "sonorant_autoscaler_observed_examples_per_second", "Observed at the trainer.", decision.demand.observed
        )
    if decision.predicted is not None:
        yield gauge("sonorant_autoscaler_predicted_examples_per_second", "Predicted for it.", decision.predicted)
    if shown.t_session is not None:
        yield gauge(
            "sonorant_autoscaler_t_session_ratio", "Of the rank that waits least for the others.", shown.t_session
        )
