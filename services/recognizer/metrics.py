"""The recognizer's metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sonorant.serving.admission import Admission

__all__ = ["RecognizerMetrics"]

_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)


class RecognizerMetrics:
    """Counters of streams and requests; the number of open ones is read from `admission` at each scrape."""

    def __init__(self, registry: CollectorRegistry, admission: Admission) -> None:
        Gauge("sonorant_recognizer_sessions", "Open streams and requests.", registry=registry).set_function(
            lambda: admission.active
        )
        self.refusals = Counter(
            "sonorant_recognizer_refusals_total",
            "Streams and requests ended by an error.",
            ["status"],
            registry=registry,
        )
        self.ended = Counter(
            "sonorant_recognizer_ended_sessions_total", "Completed streams and requests.", registry=registry
        )
        self.audio = Counter("sonorant_recognizer_audio_seconds_total", "Audio recognized in them.", registry=registry)
        self.latency = Histogram(
            "sonorant_recognizer_latency_seconds",
            "From the end of the audio to the final result.",
            buckets=_BOUNDS_S,
            registry=registry,
        )
