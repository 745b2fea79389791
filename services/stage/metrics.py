"""Prometheus metrics of a replica of a stage."""

from collections.abc import Iterator, Mapping

from prometheus_client import Metric

from services.coordination.meter import Meter
from services.process.metrics import counter, counters, gauge

__all__ = ["stage_metrics"]


def stage_metrics(stage: str, meter: Meter, own: Mapping[str, int]) -> Iterator[Metric]:
    """Yield the counters of one replica of `stage`; own: the stage's own (`StageResources.counts`)."""
    done = meter.totals()
    yield counter("sonorant_stage_examples_total", "Examples handed on.", done.examples, stage=stage)
    yield counter("sonorant_stage_audio_seconds_total", "Audio in these examples.", done.audio_s, stage=stage)
    yield counter(
        "sonorant_stage_busy_seconds_total", "Time at work: receiving, computing, sending.", done.busy_s, stage=stage
    )
    yield counter(
        "sonorant_stage_cpu_seconds_total", "CPU time of the thread at work, in that time.", done.cpu_s, stage=stage
    )
    yield counter("sonorant_stage_rejected_examples_total", "Examples rejected here.", done.rejected, stage=stage)
    yield counter(
        "sonorant_stage_link_faults_total",
        "Malformed messages, and connections that ended without BYE.",
        meter.link_faults(),
        stage=stage,
    )
    yield gauge("sonorant_stage_queued_examples", "Examples that wait here.", meter.queued(), stage=stage)
    yield gauge("sonorant_stage_draining", "1 while it takes nothing new.", meter.draining, stage=stage)
    what = "What a stage counts of its own draws: rooms, and rooms that were impossible and drawn again."
    yield counters("sonorant_stage_counted_total", what, "what", own, stage=stage)
