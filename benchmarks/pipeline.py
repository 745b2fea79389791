"""Shards to features through real services, without training: what the fleet costs beside its kernels alone.

Everything is CPU time per example, so a busy machine changes little and no row depends on waits between processes.
"alone" is the same work in one loop of this process, on the same shards: reading and FLAC decoding are in it, and shown
apart. tf.data and its service read the same shards, and do with the toolkits what the recipe's stages do.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import mean, median
from typing import Literal

from benchmarks.rigs import toolkits
from benchmarks.rigs.pipeline import PipelineRun
from benchmarks.rigs.process import Child, Main
from benchmarks.rigs.tfdata import serve_by_service, serve_in_process
from benchmarks.row import Progress, Row
from services.process.memory import keep_freed_memory
from sonorant.augment.chain import StageResources, apply_stage, build_chain
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.example import Lineage
from sonorant.links.wire import encode_example
from sonorant.recipe.schema import Recipe

__all__ = ["layout_rows", "overhead_s", "rows"]

_EXAMPLES = 96
_CORPORA = ((12.0, 16000), (2.0, 8000))  # seconds of an utterance, rate
_TURNS = 3
_PEER_WARM, _PEER_TURN = 4, 24
_LOOK_S = 0.1
_TURN_S = 1.0  # of computing in one loop, from which the examples of a turn follow
_Layout = Literal["fused", "split"]
_PEERS: Mapping[_Layout, tuple[str, Main]] = {
    "fused": ("tf.data", serve_in_process),
    "split": ("tf.data service", serve_by_service),
}


def rows(progress: Progress) -> Iterator[Row]:
    """Yield, for long and short utterances, the cost alone and in both layouts."""
    keep_freed_memory()  # as the services do
    for seconds, rate_hz in _CORPORA:
        for layout in _PEERS:
            progress(f"{layout}, {seconds:g} s at {rate_hz} Hz")
            yield from layout_rows(layout, seconds, rate_hz)


def _recipe(layout: str, rate_hz: int) -> Recipe:
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "bench",
            "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": rate_hz},
            "text": {"units": "words"},
            "stages": [
                {"stage": "vtlp", "alpha": {"low": 0.85, "high": 1.15}},
                {"stage": "room", "t60_s": {"low": 0.2, "high": 0.4}, "noise_sources": [1, 1]},
            ],
            "features": {"kind": "power_mel", "stack": 4, "stride": 4, "high_hz": rate_hz / 2},
            "pipeline": {"layout": layout},
        }
    )


def layout_rows(layout: _Layout, seconds: float, rate_hz: int) -> Iterator[Row]:
    """Yield the rows of one layout, for examples of so many seconds."""
    recipe, case = _recipe(layout, rate_hz), f"{layout}, {seconds:g} s at {rate_hz // 1000} kHz"
    with PipelineRun(recipe, _EXAMPLES, seconds) as run:
        alone = _Alone(recipe, run.folder.shards)
        alone.turn(2)
        run.take(8)
        count = max(8, int(_TURN_S / sum(alone.turn(8).values())))
        pairs = [(alone.turn(count), _turn(run, count)) for _ in range(_TURNS)]
        queues = _queues(run, 4 * count)
        link_kb = alone.link_kb(layout)
        peer = _peer_s(layout, run.folder.shards, rate_hz)
    ours = {stage: min(fleet[stage] for _, fleet in pairs) for stage in pairs[0][1]}
    kernels = {stage: min(loop[stage] for loop, _ in pairs) for stage in pairs[0][0]}
    total, least = sum(ours.values()), sum(kernels.values())
    efficiency = median(sum(loop.values()) / sum(fleet.values()) for loop, fleet in pairs)
    speed = seconds / total
    yield Row("pipeline", case, speed, "audio-h/core-h", "alone", seconds / least, efficiency)
    if peer is not None:
        yield Row("pipeline", case, speed, "audio-h/core-h", peer[0], seconds / peer[1])
    yield Row("bytes", case, link_kb, "KB/example")
    yield Row("overhead", case, overhead_s(pairs) * 1e3, "CPU-ms/example, stage")
    for stage in (name for name in kernels if name not in ours):  # in one process, the loop measures each stage
        yield Row(stage, case, kernels[stage] * 1e3, "CPU-ms/example, alone")
    for stage, cost_s in ours.items():
        yield Row(stage, case, cost_s * 1e3, "CPU-ms/example", "alone", 1e3 * kernels.get(stage, least))
        yield Row(f"{stage} queue", case, queues[stage], "examples")


def overhead_s(pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> float:
    """Return what an example costs a stage beside its kernels, its bytes on links included: the mean over stages."""
    return min(sum(fleet.values()) - sum(loop.values()) for loop, fleet in pairs) / len(pairs[0][1])


def _peer_s(layout: _Layout, shards: Path, rate_hz: int) -> tuple[str, float] | None:
    """Return the peer with as many processes, and its CPU seconds per example."""
    if not toolkits.INSTALLED:
        return None
    name, main = _PEERS[layout]
    with Child(main, shards, rate_hz) as child:
        child.query(str(_PEER_WARM))  # compiles librosa's loops
        return name, float(child.query(str(_PEER_TURN)))


def _queues(run: PipelineRun, count: int) -> dict[str, float]:
    """Return how many examples wait in each stage on average, while `count` are taken as fast as they come."""
    run.source.grant(count)
    taken, looks = 0, []
    while taken < count:
        taken += len(run.source.take(_LOOK_S))
        looks.append(run.queued())
    return {stage: mean(look[stage] for look in looks) for stage in looks[0]}


def _turn(run: PipelineRun, count: int) -> dict[str, float]:
    """Return each stage's CPU seconds per example."""
    before = run.cpu_s()
    run.take(count)
    return {stage: (cpu_s - before[stage]) / count for stage, cpu_s in run.cpu_s().items()}


class _Alone:
    """Reads and runs the chain in one loop."""

    def __init__(self, recipe: Recipe, shards: Path) -> None:
        self._set = ShardSet.open(shards, "train")
        self._chain = build_chain(recipe, StageResources(self._set, shards))
        self._seed = recipe.seed
        self._records = cycle(range(_EXAMPLES))

    def turn(self, count: int) -> dict[str, float]:
        """Return the CPU seconds per example of reading, and of each stage, over `count` examples."""
        spent = dict.fromkeys(("shard_reader", *self._chain), 0.0)
        for index in islice(self._records, count):
            started_s = time.thread_time()
            example = self._set.read(0, index).example(Lineage(0, 0, index))
            spent["shard_reader"] += time.thread_time() - started_s
            for name, stage in self._chain.items():
                started_s = time.thread_time()
                example = apply_stage(name, stage, example, self._seed)
                spent[name] += time.thread_time() - started_s
        return {name: cpu_s / count for name, cpu_s in spent.items()}

    def link_kb(self, layout: _Layout) -> float:
        """Return the kilobytes of an example on all links that it passes."""
        example = self._set.read(0, 0).example(Lineage(0, 0, 0))
        passed = [example]
        for name, stage in self._chain.items():
            passed.append(example := apply_stage(name, stage, example, self._seed))
        return sum(len(encode_example(sent)) for sent in (passed if layout == "split" else passed[-1:])) / 1e3
