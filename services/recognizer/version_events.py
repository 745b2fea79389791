"""What an operator is told of versions and labels: a log event of each change, and labels that wait for a version."""

from collections.abc import Iterable, Iterator

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sonorant.serving.model_store import ModelStore, VersionChange

__all__ = ["log_changes", "register_label_metric"]

log = structlog.get_logger()


def log_changes(changes: Iterable[VersionChange]) -> None:
    """Log versions that came into service and, as warnings, those refused and labels that could not be assigned."""
    for change in changes:
        tell = log.warning if change.refusal else log.info
        tell("model_version", path=str(change.path), refusal=change.refusal, labels=list(change.labels))


def register_label_metric(registry: CollectorRegistry, store: ModelStore) -> None:
    """Register how many labels of each model are unmet, to be read at each scrape."""
    registry.register(_UnmetLabels(store))


class _UnmetLabels(Collector):
    def __init__(self, store: ModelStore) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Yield the metric."""
        unmet = GaugeMetricFamily(
            "sonorant_recognizer_unmet_labels", "Labels whose version is not available.", labels=["model"]
        )
        for name, labels in self._store.unmet_labels.items():
            unmet.add_metric([name], labels)
        yield unmet
