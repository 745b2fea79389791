"""Preset `ramp`: more and more streams, until the SLO breaks."""

from collections.abc import Iterator
from itertools import count

from benchmarks.load.experiment import Conditions, Results, step_rows
from benchmarks.load.latency import percentile
from benchmarks.load.models import Model
from benchmarks.load.server import Target
from benchmarks.load.step import Speakers
from benchmarks.row import Progress, Row

__all__ = ["case_of", "climb", "ramp"]

_FIRST, _STEP = (10, 25), 50
_CLIENTS, _LATE_S = 0.95, 0.05  # delay that streams have by their own clients


def ramp(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield each step's figures, with each model, and how many streams met the SLO."""
    with conditions.serve() as target:
        for model in conditions.models:
            yield from climb(conditions, results, progress, target, model)


def climb(
    conditions: Conditions, results: Results, progress: Progress, target: Target, model: Model, series: str = ""
) -> Iterator[Row]:
    """Yield the figures of a ramp with one model; series: its name in the report, the model's label if empty."""
    series = series or model.label or "recognizer"
    steps = results.series.setdefault(series, [])
    with Speakers(target, conditions.recordings) as speakers:
        for streams in conditions.streams or _growing():
            progress(f"{streams} streams {model.label}".rstrip())
            steps.append(step := speakers.run(streams, conditions.seconds, model.name))
            if percentile(step.late_s, _CLIENTS) > _LATE_S:
                progress("the clients are late themselves: this machine's figures, not the recognizer's")
            yield from step_rows(step, case_of(streams, model, series))
            if not conditions.streams and not step.meets(conditions.slo_ms):
                break
    best = max((step.streams for step in steps if step.meets(conditions.slo_ms)), default=0)
    yield Row(
        "streams",
        f"p95 <= {conditions.slo_ms:g} ms, {series}",
        best,
        "on a core" if len(target.cores) == 1 else "streams",
    )


def case_of(streams: int, model: Model, series: str = "") -> str:
    """Return a row's case."""
    label = model.label or ("" if series == "recognizer" else series)
    return f"{streams} streams" + (f", {label}" if label else "")


def _growing() -> Iterator[int]:
    yield from _FIRST
    yield from count(_STEP, _STEP)
