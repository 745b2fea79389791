"""Streams by API key, for Prometheus: a series for each name in the file of keys, and for no other."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from services.recognizer.callers import KeyedAdmission
from services.recognizer.key_file import KeyFile

__all__ = ["register_key_metrics"]


def register_key_metrics(registry: CollectorRegistry, keys: KeyFile, admission: KeyedAdmission) -> None:
    """Register them, to be read at each scrape."""
    registry.register(_KeyMetrics(keys, admission))


class _KeyMetrics(Collector):
    def __init__(self, keys: KeyFile, admission: KeyedAdmission) -> None:
        self._keys = keys
        self._admission = admission

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        streams = GaugeMetricFamily(
            "sonorant_recognizer_key_sessions", "Open streams and requests of an API key.", labels=["key"]
        )
        refused = CounterMetricFamily(
            "sonorant_recognizer_key_refusals", "Streams refused for the limit of their API key.", labels=["key"]
        )
        for name in sorted(self._keys.names):
            streams.add_metric([name], self._admission.streams[name])
            refused.add_metric([name], self._admission.refused[name])
        yield streams
        yield refused
