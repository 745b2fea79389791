"""A step: so many streams for so many seconds, and what was measured of them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.load import usage
from benchmarks.load.clients import PATIENCE_S, Task, speak
from benchmarks.load.latency import histogram, percentile, percentiles
from benchmarks.load.recordings import Recording
from benchmarks.load.schedule import GAP_S, SPREAD_S
from benchmarks.load.server import Target
from benchmarks.load.stream import Heard
from benchmarks.rigs.process import Child

__all__ = ["REFUSED", "Speakers", "Step"]

REFUSED = "RESOURCE_EXHAUSTED"
_PREPARATION_S = 0.2  # until clients have got their task


@dataclass(frozen=True, slots=True)
class Step:
    """What was measured in a window of `seconds`, with so many streams; latencies in seconds (see `stream.Heard`).

    statuses: tries by status; a refused one counts if its client waits in the window. audio_s: audio that was sent.
    server_cpu_s: None for a server on another machine.
    """

    streams: int
    seconds: float
    finals_s: Sequence[float]
    interims_s: Sequence[float]
    firsts_s: Sequence[float]
    late_s: Sequence[float]
    statuses: Counter[str]
    shown: int
    changed: int
    audio_s: float
    server_cpu_s: float | None
    client_cpu_s: float

    @property
    def refused(self) -> int:
        """Tries that were told to come later."""
        return self.statuses[REFUSED]

    @property
    def failed(self) -> int:
        """Tries that ended by another error."""
        return self.statuses.total() - self.statuses["OK"] - self.refused

    def meets(self, slo_ms: float) -> bool:
        """Return whether 95 % of first interim and final results came within the SLO, and no stream was turned away."""
        worst_s = max(percentile(values, 0.95) for values in (self.finals_s, self.interims_s or [0.0]))
        return not self.refused and not self.failed and 1000 * worst_s <= slo_ms

    def document(self) -> dict[str, object]:
        """Return every figure, for JSON; CPU milliseconds an audio-second, and a second and stream."""
        used = {"server": self.server_cpu_s, "clients": self.client_cpu_s}
        latencies = {"final": self.finals_s, "first_interim": self.interims_s, "speech_to_interim": self.firsts_s}
        return {
            "streams": self.streams,
            "seconds": self.seconds,
            "latency_ms": {name: percentiles(values) for name, values in latencies.items()},
            "histogram_ms": {name: histogram(values) for name, values in latencies.items()},
            "client_delay_ms": percentiles(self.late_s),
            "statuses": dict(self.statuses),
            "flicker": self.changed / self.shown if self.shown else None,
            "audio_s": self.audio_s,
            "cpu_ms_per_audio_s": {
                name: 1000 * cpu_s / self.audio_s if cpu_s is not None and self.audio_s else None
                for name, cpu_s in used.items()
            },
            "cpu_ms_per_stream_s": {
                name: None if cpu_s is None else 1000 * cpu_s / self.seconds / self.streams
                for name, cpu_s in used.items()
            },
        }


class Speakers:
    """Clients' processes, one a core; within `with`."""

    def __init__(self, target: Target, recordings: Sequence[Recording]) -> None:
        self._target = target
        self._recordings = recordings
        self._warm_up_s = SPREAD_S + max(recording.duration_s for recording in recordings) + GAP_S

    def __enter__(self) -> "Speakers":
        with ExitStack() as exits:
            self._children = [
                exits.enter_context(Child(speak, self._target.address, self._recordings, [core]))
                for core in self._target.client_cores
            ]
            for child in self._children:
                child.query(Task((), 1, 0.0, 0.0))  # answered once it has started
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.__exit__(None, None, None)

    def run(self, streams: int, seconds: float, model: str = "", meanwhile: Callable[[], object] | None = None) -> Step:
        """Measure a step of so many streams for `seconds`, behind a warm-up; `meanwhile`: called as they begin."""
        begin_s = time.monotonic() + _PREPARATION_S
        from_s = begin_s + self._warm_up_s
        until_s = from_s + seconds
        count = len(self._children)
        for number, child in enumerate(self._children):
            child.send(Task(range(number, streams, count), streams, begin_s, until_s, model))
        _sleep_until(from_s)
        with self._used() as used:
            if meanwhile is not None:
                meanwhile()
            _sleep_until(until_s)
        heard = [each for child in self._children for each in child.receive(PATIENCE_S + 60.0)]
        return _step(streams, from_s, until_s, heard, *used)

    @contextmanager
    def _used(self) -> Iterator[list[float | None]]:
        """Yield a list that has, after the context, the CPU seconds of the server and of the clients in it."""
        found: list[float | None] = []
        before = self._cpu_s()
        yield found
        found += [
            None if was is None or now is None else now - was for was, now in zip(before, self._cpu_s(), strict=True)
        ]

    def _cpu_s(self) -> tuple[float | None, float]:
        clients = sum(usage.cpu_s(child.pid) for child in self._children if child.pid is not None)
        return None if self._target.pid is None else usage.cpu_s(self._target.pid), clients


def _step(
    streams: int,
    from_s: float,
    until_s: float,
    heard: Sequence[Heard],
    server_cpu_s: float | None,
    client_cpu_s: float | None,
) -> Step:
    ended = [each for each in heard if each.status and _counts(each, from_s, until_s)]
    answered = [each for each in ended if each.final_s is not None]
    sent_s = sum(audio_s for each in heard for at_s, audio_s in each.sent if from_s <= at_s < until_s)
    return Step(
        streams,
        until_s - from_s,
        [each.final_s for each in answered if each.final_s is not None],
        [each.interim_s for each in ended if each.interim_s is not None],
        [each.first_s for each in ended if each.first_s is not None],
        [each.late_s for each in ended],
        Counter(each.status for each in ended),
        sum(each.shown for each in ended),
        sum(each.changed for each in ended),
        sent_s,
        server_cpu_s,
        client_cpu_s or 0.0,
    )


def _counts(heard: Heard, from_s: float, until_s: float) -> bool:
    """Return whether a try is of the window.

    Its audio ends there, by the set times; a refused client waits there; another error occurs there.
    """
    if heard.retry_s is not None:
        return heard.over_s < until_s and heard.over_s + heard.retry_s > from_s
    return from_s <= (heard.end_s if heard.final_s is not None else heard.over_s) < until_s


def _sleep_until(moment_s: float) -> None:
    time.sleep(max(0.0, moment_s - time.monotonic()))
