"""What presets share: conditions, the server under load, and the results for rows and report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

from benchmarks.load.models import Model
from benchmarks.load.recordings import Recording
from benchmarks.load.server import Target
from benchmarks.load.step import Step
from benchmarks.row import Progress, Row
from sonorant.errors import SonorantError, Unavailable

__all__ = [
    "STEP_FIGURES",
    "Conditions",
    "NotOurServer",
    "NothingMeasured",
    "Preset",
    "Results",
    "Serve",
    "step_rows",
]

Serve: TypeAlias = Callable[..., AbstractContextManager[Target]]
"""Returns the server, within a context, with keys of the recipe's `serving` where it is started for this."""


STEP_FIGURES = {"final result", "first interim", "speech to interim", "flicker", "refused", "failed"}
STEP_FIGURES |= {"CPU, server", "CPU, clients", "client delay"}
"""Names of the rows of `step_rows`."""


class NotOurServer(SonorantError):
    """A server that was there, whose exports or limits a preset cannot change: the message says which."""

    exit_code = 64


class NothingMeasured(Unavailable):
    """No stream had an answer, of whatever kind, while a step was measured: there are no figures."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What an experiment runs under.

    streams: empty: the preset's own. publish: gives the recognizer another version; None: of a server that was there.
    peers: other servers of the same model, by name.
    """

    serve: Serve
    models: Sequence[Model]
    recordings: Sequence[Recording]
    streams: Sequence[int]
    seconds: float
    slo_ms: float
    publish: Callable[[], None] | None
    peers: Mapping[str, Serve]


@dataclass(slots=True)
class Results:
    """What the report shows: steps by series, batches of the thesis's users, and all rows."""

    preset: str
    slo_ms: float
    chunk_ms: float = 100.0
    series: dict[str, list[Step]] = field(default_factory=dict)
    users: list[dict[str, float]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def document(self) -> dict[str, object]:
        """Return all figures, for JSON."""
        return {
            "preset": self.preset,
            "slo_ms": self.slo_ms,
            "chunk_ms": self.chunk_ms,
            "rows": [asdict(row) for row in self.rows],
            "series": {name: [step.document() for step in steps] for name, steps in self.series.items()},
            "users": self.users,
        }


Preset: TypeAlias = Callable[[Conditions, Results, Progress], Iterator[Row]]


def step_rows(step: Step, case: str, progress: Progress) -> Iterator[Row]:
    """Yield the figures of a step that a terminal shows; the report has all of them. Say if it has no latencies."""
    if not step.finals_s:
        progress(f"{case}: no results came, so that no latency was measured")
    document = step.document()
    latencies: dict[str, dict[str, float]] = document["latency_ms"]  # type: ignore[assignment]
    for name, key, shown in (
        ("final result", "final", ("p50", "p95", "p99", "max")),
        ("first interim", "first_interim", ("p95",)),
        ("speech to interim", "speech_to_interim", ("p50",)),
    ):
        yield from (Row(name, case, latencies[key][each], f"ms ({each})") for each in shown if latencies[key])
    if step.shown:
        yield Row("flicker", case, step.changed / step.shown, "of interim words")
    yield Row("refused", case, step.refused, "tries")
    yield Row("failed", case, step.failed, "streams")
    used: dict[str, float | None] = document["cpu_ms_per_audio_s"]  # type: ignore[assignment]
    for name in ("server", "clients"):
        if (value := used[name]) is not None:
            yield Row(f"CPU, {name}", case, value, "ms/audio-s")
    delays: dict[str, float] = document["client_delay_ms"]  # type: ignore[assignment]
    if delays:
        yield Row("client delay", case, delays["p95"], "ms (p95)")
