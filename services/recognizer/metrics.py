"""The recognizer's metrics."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sonorant.serving.admission import Admission

__all__ = ["RecognizerMetrics"]

_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)


class RecognizerMetrics:
    """Counters of streams and requests; what `admission`, `worst_lag_s` and `gather_s` know is read at each scrape."""

    def __init__(
        self,
        registry: CollectorRegistry,
        admission: Admission,
        worst_lag_s: Callable[[], float] = lambda: 0.0,
        gather_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        _register_gauges(registry, admission, worst_lag_s, gather_s)
        self.lag = Histogram(
            "sonorant_recognizer_lag_seconds",
            "From the arrival of live audio at the socket to its recognition, less the time in which it is gathered.",
            buckets=_BOUNDS_S,
            registry=registry,
        )
        self.refusals = Counter(
            "sonorant_recognizer_refusals_total",
            "Streams and requests ended by an error.",
            ["status"],
            registry=registry,
        )
        self.begun = Counter(
            "sonorant_recognizer_begun_sessions_total",
            "Streams and requests by the version that they began with.",
            ["model", "version"],
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


def _register_gauges(
    registry: CollectorRegistry,
    admission: Admission,
    worst_lag_s: Callable[[], float],
    gather_s: Callable[[], float],
) -> None:
    for name, what, read in (
        ("sessions", "Open streams and requests.", lambda: admission.active),
        ("headroom_sessions", "Streams that would be admitted beside the open ones.", lambda: admission.fitting),
        ("load_ratio", "Share of the measured capacity in use; 1: streams are refused.", lambda: admission.load),
        ("worst_lag_seconds", "Worst lag of the last seconds, of audio that waits, too.", worst_lag_s),
        (
            "gathering_seconds",
            "Time for which each stream gathers its messages; 0: they are recognized at once.",
            gather_s,
        ),
    ):
        Gauge(f"sonorant_recognizer_{name}", what, registry=registry).set_function(read)
