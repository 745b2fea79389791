"""Prometheus metrics of a rank."""

from collections.abc import Iterator

from prometheus_client import Metric

from services.coordination.meter import Meter
from services.process.metrics import counter, gauge

__all__ = ["rank_metrics"]

_FIGURES = {
    "epoch": "Epoch under way.",
    "loss": "Loss of the latest step.",
    "wer": "Word error rate on dev, at the latest evaluation.",
    "perplexity": "Perplexity of a language model on dev, at the latest evaluation.",
    "skipped_steps": "Steps whose gradient was not finite.",
}


def rank_metrics(meter: Meter) -> Iterator[Metric]:
    """Yield a rank's counters; figures of the training come from rank 0 alone."""
    done = meter.totals()
    yield counter("sonorant_trainer_steps_total", "Steps for which the rank had a batch.", done.steps)
    yield counter("sonorant_trainer_examples_total", "Examples trained on.", done.examples)
    yield counter("sonorant_trainer_audio_seconds_total", "Audio in these examples.", done.audio_s)
    yield counter("sonorant_trainer_step_seconds_total", "Time in these steps.", done.busy_s)
    yield counter("sonorant_trainer_wait_seconds_total", "Time waited for batches.", done.waited_s)
    spent_s = done.busy_s + done.waited_s
    ratio = done.busy_s / spent_s if spent_s else 0.0
    yield gauge("sonorant_trainer_t_session_ratio", "Time in steps / (that + time waited), since the start.", ratio)
    yield gauge("sonorant_trainer_queued_examples", "Examples that have arrived and wait for the pool.", meter.queued())
    yield gauge("sonorant_trainer_wanted_examples", "Granted credits without an example yet.", meter.wanted())
    yield counter("sonorant_trainer_link_faults_total", "Faults on links to the last stage.", meter.link_faults())
    figures = meter.figures()
    for name, what in _FIGURES.items():
        if name in figures:
            yield gauge(f"sonorant_trainer_{name}", what, figures[name])
