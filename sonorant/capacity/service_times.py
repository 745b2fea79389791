"""Costs of examples in a recipe's stages and its trainer: measured once, saved, resampled in simulations."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from sonorant.atomic import atomic_write
from sonorant.augment.chain import apply_stage
from sonorant.augment.stage import Stage
from sonorant.capacity.scenario import Draw
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.example import Lineage
from sonorant.errors import RejectedExample, SonorantError
from sonorant.links.section import PayloadRecipe
from sonorant.links.wire import encode_example
from sonorant.section import Section

__all__ = [
    "READER",
    "BadMeasurement",
    "ServiceTimes",
    "StageTimes",
    "StepTime",
    "Utterances",
    "drawing",
    "mean",
    "measure_stages",
]

READER = "shard_reader"
_GOLDEN = 0.6180339887498949
_WARM, _FEWEST = 3, 8  # warm-up examples; fewest examples counted, whatever their time


class BadMeasurement(SonorantError):
    """A file of measurements that cannot be used."""

    exit_code = 65


class StageTimes(Section):
    """One stage."""

    stage: str = Field(description="Name; the reader's is shard_reader.")
    seconds: tuple[float, ...] = Field(min_length=1, description="Of one core, for each utterance that was measured.")
    bytes_out: float = Field(ge=0, description="Of an example on the link after the stage, on average.")
    whole: bool = Field(False, description="Whether the seconds hold receiving and sending, as of a running replica.")


class StepTime(Section):
    """The training step of one rank."""

    seconds: float = Field(gt=0, description="Of a step that does not wait for its batch.")
    examples: int = Field(ge=1, description="In its batch.")
    source: str = Field(description="Source of the measurement.")


class Utterances(Section):
    """The measured utterances."""

    source: str = Field(description="Folder of shards, or its replacement.")
    seconds: float = Field(gt=0, description="Of speech in an utterance, on average.")
    stored_bytes: float = Field(gt=0, description="Of a record in its shard, on average.")
    vectors: float = Field(ge=0, description="Of an utterance's features, on average.")


class ServiceTimes(Section):
    """Costs of one example; stages in its order, the reader first."""

    version: Literal[1] = 1
    recipe: str = Field(description="Name of the recipe whose stages these are.")
    utterances: Utterances
    stages: tuple[StageTimes, ...] = Field(min_length=1)
    memory_mb: float = Field(gt=0, description="Of a process with all stages loaded.")
    step: StepTime | None = None

    @model_validator(mode="after")
    def _aligned(self) -> Self:
        counts = {stage.stage: len(stage.seconds) for stage in self.stages}
        if len(set(counts.values())) > 1:
            raise ValueError(f"seconds of {counts} utterances: need as many for each stage")
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file of `save`; raises BadMeasurement, naming file and field."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise BadMeasurement(f"{path}: cannot be read: {error.strerror}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise BadMeasurement(
                f"{path}: {where or 'the file'}: {first['msg']}; delete the file to measure anew"
            ) from error

    def save(self, path: Path) -> None:
        """Write to `path`; raises Unavailable when the file system refuses."""
        atomic_write(path, self.model_dump_json(indent=1) + "\n")

    def scaled(self, means_s: Mapping[str, float]) -> "ServiceTimes":
        """Return the same with other means, for stages measured in a running training: `means_s` by stage."""
        stages = []
        for stage in self.stages:
            if (found_s := means_s.get(stage.stage)) is not None:
                seconds = tuple(found_s / mean(stage.seconds) * s for s in stage.seconds)
                stage = stage.model_copy(update={"seconds": seconds, "whole": True})
            stages.append(stage)
        return self.model_copy(update={"stages": tuple(stages)})


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean."""
    return sum(values) / len(values)


def drawing(seconds: np.ndarray[Any, np.dtype[np.float64]]) -> Draw:
    """Return a function that draws rows of Float64[utterances, stages]: a long utterance is long in every stage."""
    return lambda rng, count: seconds[rng.integers(len(seconds), size=count)]


def measure_stages(
    shards: ShardSet,
    chain: Mapping[str, Stage],
    seed: int,
    payload: PayloadRecipe,
    clock: Callable[[], float],
    budget_s: float,
) -> tuple[tuple[StageTimes, ...], Utterances]:
    """Run utterances of `shards`, evenly spread, through reading and the whole chain, as replicas do.

    clock: seconds of this thread; budget_s: of it, for all. Utterances that a stage rejects are skipped.
    """
    seconds: dict[str, list[float]] = {name: [] for name in (READER, *chain)}
    sizes: dict[str, list[int]] = {name: [] for name in seconds}
    durations, stored, vectors = [], [], []
    began_s = clock()
    for number, ordinal in enumerate(itertools.chain(itertools.repeat(0, _WARM), _spread(shards.total))):
        shard, index = shards.locate(ordinal)
        try:
            row, size, duration_s, frames = _pass(shards, (shard, index), chain, seed, payload, clock)
        except RejectedExample:
            continue
        if number < _WARM:
            continue
        for name in seconds:
            seconds[name].append(row[name])
            sizes[name].append(size[name])
        durations.append(duration_s)
        stored.append(len(shards.read(shard, index).audio))
        vectors.append(frames)
        if len(durations) >= _FEWEST and clock() - began_s > budget_s:
            break
    if not durations:
        raise BadMeasurement(f"{shards.paths[0].parent}: every utterance was rejected by a stage; nothing to measure")
    stages = tuple(StageTimes(stage=n, seconds=tuple(s), bytes_out=mean(sizes[n])) for n, s in seconds.items())
    source = f"{len(durations)} of {shards.total} utterances of {shards.paths[0].parent}"
    return stages, Utterances(source=source, seconds=mean(durations), stored_bytes=mean(stored), vectors=mean(vectors))


def _spread(total: int) -> Iterator[int]:
    """Yield as many numbers below `total` that are spread evenly however few are taken (by the golden ratio)."""
    return (int(number * _GOLDEN % 1.0 * total) for number in range(total))


def _pass(
    shards: ShardSet,
    position: tuple[int, int],
    chain: Mapping[str, Stage],
    seed: int,
    payload: PayloadRecipe,
    clock: Callable[[], float],
) -> tuple[dict[str, float], dict[str, int], float, int]:
    """Return, for one utterance, seconds and bytes by stage, its duration, and its feature vectors."""
    seconds, sizes = {}, {}
    began_s = clock()
    example = shards.read(*position).example(Lineage(0, *position))
    duration_s = example.duration_s
    sizes[READER] = len(encode_example(example, payload))
    seconds[READER] = clock() - began_s
    for name, stage in chain.items():
        began_s = clock()
        example = apply_stage(name, stage, example, seed)
        sizes[name] = len(encode_example(example, payload))
        seconds[name] = clock() - began_s
    return seconds, sizes, duration_s, 0 if example.features is None else len(example.features)
