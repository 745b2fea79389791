"""Preset `reload`: the same streams without and with a new version that is loaded, and swapped in, under them."""

from collections.abc import Iterator

from benchmarks.load.experiment import Conditions, NotOurServer, Results, step_rows
from benchmarks.load.latency import percentile
from benchmarks.load.step import Speakers
from benchmarks.row import Progress, Row

__all__ = ["reload"]

_STREAMS = 50
_LEAST_S = 15.0  # the recognizer polls every 5 s, and loads for some


def reload(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield the figures of both, and what the reload adds to p99; raises NotOurServer."""
    if conditions.publish is None:
        raise NotOurServer("reload: gives a new version to a recognizer that it starts; leave out --server")
    streams = (conditions.streams or (_STREAMS,))[0]
    with conditions.serve() as target, Speakers(target, conditions.recordings) as speakers:
        seconds, name = max(conditions.seconds, _LEAST_S), conditions.models[0].name
        progress(f"{streams} streams")
        before = speakers.run(streams, seconds, name)
        yield from step_rows(before, f"{streams} streams", progress)
        progress(f"{streams} streams while a version is loaded")
        during = speakers.run(streams, seconds, name, conditions.publish)
        yield from step_rows(during, f"{streams} streams, reload", progress)
    results.series |= {"without": [before], "with a reload": [during]}
    if before.finals_s and during.finals_s:
        added_s = percentile(during.finals_s, 0.99) - percentile(before.finals_s, 0.99)
        yield Row("reload adds", f"{streams} streams, p99 of final result", 1000 * added_s, "ms")
