"""Prometheus metrics on a port of their own: counters of the process, read at each scrape.

Names are `sonorant_<service>_<noun>_<unit>[_total]`. Labels take few values; the scraper adds the pod's name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from sonorant.errors import Unavailable

__all__ = ["MetricsServer", "counter", "counters", "gauge", "gauges", "metrics_at", "on_scrape"]


class MetricsServer:
    """Answers `GET /metrics` with what `registry` collects, and the process's own CPU time, memory and open files.

    Raises Unavailable if the port is taken.
    """

    def __init__(self, host: str, port: int) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=self.registry)
        except OSError as error:
            raise Unavailable(
                f"metrics port {host}:{port} cannot be bound ({error}): choose a free port, or 0 for any"
            ) from error
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def metrics_at(host: str, port: int | None) -> Iterator[CollectorRegistry]:
    """Serve what is registered with the registry that is yielded; without a port, it is not served."""
    if port is None:
        yield CollectorRegistry()
        return
    server = MetricsServer(host, port)
    try:
        yield server.registry
    finally:
        server.close()


def on_scrape(registry: CollectorRegistry, collect: Callable[[], Iterable[Metric]]) -> None:
    """Call `collect` at every scrape, in the thread that answers."""
    registry.register(_Reading(collect))


def counter(name: str, what: str, value: float, **labels: str) -> CounterMetricFamily:
    """Return one reading of a counter, `name` ending in `_total`."""
    family = CounterMetricFamily(name, what, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


def gauge(name: str, what: str, value: float, **labels: str) -> GaugeMetricFamily:
    """Return one reading of a gauge."""
    family = GaugeMetricFamily(name, what, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


def counters(name: str, what: str, label: str, values: Mapping[str, float], **labels: str) -> CounterMetricFamily:
    """Return readings of a counter, `name` ending in `_total`, by the value of one label, others common to all."""
    family = CounterMetricFamily(name, what, labels=[*labels, label])
    for labelled, value in values.items():
        family.add_metric([*labels.values(), labelled], value)
    return family


def gauges(name: str, what: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    """Return readings of a gauge, by the value of one label."""
    family = GaugeMetricFamily(name, what, labels=[label])
    for labelled, value in values.items():
        family.add_metric([labelled], value)
    return family


class _Reading(Collector):
    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect

    def describe(self) -> Iterable[Metric]:
        return ()  # or registering would read counters that may not be there yet

    def collect(self) -> Iterable[Metric]:
        return self._collect()
