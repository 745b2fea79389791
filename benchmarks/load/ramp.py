"""Preset `ramp`: more and more streams, until the SLO breaks; then the peers, with the same streams."""

from collections.abc import Iterator
from itertools import count

from benchmarks.load.experiment import Conditions, NothingMeasured, Results, step_rows
from benchmarks.load.latency import percentile
from benchmarks.load.server import Target
from benchmarks.load.step import Speakers, Step
from benchmarks.row import Progress, Row
from sonorant.errors import Unavailable

__all__ = ["ramp"]

_FIRST, _STEP = (10, 25), 50
_CLIENTS, _LATE_S = 0.95, 0.05  # delay that streams have by their own clients
_RECOGNIZER = "recognizer"


def ramp(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield each step's figures, with each model, and how many streams met the SLO; beside each peer's."""
    best = 0
    within = f"p95 <= {conditions.slo_ms:g} ms"
    with conditions.serve() as target:
        unit = "on a core" if len(target.cores) == 1 else "streams"
        for model in conditions.models:
            series = model.label or _RECOGNIZER
            yield from _climb(conditions, results, progress, target, series, model.name)
            own = _best(results.series[series], conditions.slo_ms)
            best = best or own
            yield Row("streams", f"{within}, {series}", own, unit)
    for name, serve in conditions.peers.items():
        try:
            with serve() as target:
                yield from _climb(conditions, results, progress, target, name)
        except Unavailable as error:
            progress(f"{name} is left out: {error}")
            continue
        yield Row("streams", within, best, unit, name, _best(results.series[name], conditions.slo_ms))


def _climb(
    conditions: Conditions, results: Results, progress: Progress, target: Target, series: str, model: str = ""
) -> Iterator[Row]:
    steps = results.series.setdefault(series, [])
    with Speakers(target, conditions.recordings) as speakers:
        for streams in conditions.streams or _growing():
            progress(f"{streams} streams, {series}")
            step = speakers.run(streams, conditions.seconds, model)
            if not steps:  # later ones say at least that fewer streams were answered
                _check(step, conditions)
            steps.append(step)
            if percentile(step.late_s, _CLIENTS) > _LATE_S:
                progress("the clients are late themselves: this machine's figures, not the recognizer's")
            case = f"{streams} streams" + (f", {series}" if series != _RECOGNIZER else "")
            yield from step_rows(step, case, progress)
            if not conditions.streams and not step.meets(conditions.slo_ms):
                break


def _check(step: Step, conditions: Conditions) -> None:
    """Raise NothingMeasured for a step that says nothing, neither good nor bad."""
    if not (step.finals_s or step.refused or step.failed):
        longest_s = max(recording.duration_s for recording in conditions.recordings)
        raise NothingMeasured(
            f"{step.streams} streams: none came to its end within {conditions.seconds:g} s; the longest recording has "
            f"{longest_s:.1f} s: raise --seconds, or say shorter ones"
        )


def _best(steps: list[Step], slo_ms: float) -> int:
    return max((step.streams for step in steps if step.meets(slo_ms)), default=0)


def _growing() -> Iterator[int]:
    yield from _FIRST
    yield from count(_STEP, _STEP)
