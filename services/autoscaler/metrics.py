"""The autoscaler's metrics: predicted rates beside observed ones."""

from collections.abc import Iterator

from prometheus_client import Metric

from services.autoscaler.scaler import Shown
from services.process.metrics import counters, gauge, gauges

__all__ = ["autoscaler_metrics"]


def autoscaler_metrics(shown: Shown) -> Iterator[Metric]:
    """Yield figures of the latest iteration and counts of all; a standby has no predictions."""
    yield gauge("sonorant_autoscaler_leading", "1 while it decides, 0 while it stands by.", shown.leading)
    yield counters("sonorant_autoscaler_turns_total", "Iterations by outcome.", "outcome", shown.iterations)
    yield counters("sonorant_autoscaler_failures_total", "Failed calls, by server.", "who", shown.failures)
    decision = shown.decision
    if decision is None:
        return
    yield gauge(
        "sonorant_autoscaler_held", "1 while it changes nothing, for want of measurements.", bool(decision.held)
    )
    yield gauges("sonorant_autoscaler_replicas", "Replicas that were decided on.", "stage", decision.replicas)
    yield gauges(
        "sonorant_autoscaler_service_seconds",
        "Seconds of a replica for each example that are planned with.",
        "stage",
        decision.service_s,
    )
    if decision.demand is not None:
        yield gauge("sonorant_autoscaler_demand_examples_per_second", "That a fed trainer takes.", decision.demand.rate)
        yield gauge("sonorant_autoscaler_observed_examples_per_second", "That it took.", decision.demand.observed)
    if decision.predicted is not None:
        yield gauge("sonorant_autoscaler_predicted_examples_per_second", "That it will get.", decision.predicted)
    if shown.t_session is not None:
        yield gauge(
            "sonorant_autoscaler_t_session_ratio", "Of the rank that waits least for the others.", shown.t_session
        )
