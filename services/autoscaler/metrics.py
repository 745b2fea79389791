"""What the autoscaler tells Prometheus: what it predicted, beside what came."""

from collections.abc import Iterator, Mapping

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from services.autoscaler.scaler import Shown
from services.runtime.metrics import gauge

__all__ = ["autoscaler_metrics"]


def autoscaler_metrics(shown: Shown) -> Iterator[Metric]:
    """Yield the latest turn, and how many turns ended how; who stands by has no predictions."""
    yield gauge("sonorant_autoscaler_leading", "1 while it decides, 0 while it stands by.", shown.leading)
    yield _counts("sonorant_autoscaler_turns_total", "Turns by outcome.", "outcome", shown.turns)
    yield _counts("sonorant_autoscaler_failures_total", "Who could not be asked.", "who", shown.failures)
    decision = shown.decision
    if decision is None:
        return
    yield gauge(
        "sonorant_autoscaler_held", "1 while it changes nothing, for want of measurements.", bool(decision.held)
    )
    yield _by_stage("sonorant_autoscaler_replicas", "Replicas that were decided on.", decision.replicas)
    yield _by_stage("sonorant_autoscaler_service_seconds", "Busy seconds for each example.", decision.service_s)
    if decision.demand is not None:
        yield gauge("sonorant_autoscaler_demand_examples_per_second", "That a fed trainer takes.", decision.demand.rate)
        yield gauge("sonorant_autoscaler_observed_examples_per_second", "That it took.", decision.demand.observed)
    if decision.predicted is not None:
        yield gauge("sonorant_autoscaler_predicted_examples_per_second", "That it will get.", decision.predicted)
    if shown.t_session is not None:
        yield gauge(
            "sonorant_autoscaler_t_session_ratio", "Of the rank that waits least for the others.", shown.t_session
        )


def _counts(name: str, what: str, label: str, counts: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, what, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _by_stage(name: str, what: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, what, labels=["stage"])
    for stage, value in values.items():
        family.add_metric([stage], value)
    return family
