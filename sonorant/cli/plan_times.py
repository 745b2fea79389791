"""Service times for `sonorant plan`: from a file, measured on this machine, or those of a running training."""

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from services.coordination.durations import seconds
from services.process.memory import keep_freed_memory
from sonorant.cli.settings import data_folder_or_here
from sonorant.errors import BadShard
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

if TYPE_CHECKING:
    from sonorant.capacity.service_times import ServiceTimes, StepTime
    from sonorant.corpus.shards import ShardSet
    from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["TimesSource", "echo_progress", "service_times"]

_BUDGET_S = 3.0  # of measuring the stages
_STAND_IN = 32  # utterances without a prepared run


class TimesSource(NamedTuple):
    """Where service times come from; the fields are the options of `sonorant plan`, None: absent."""

    measured: Path | None
    run_path: Path | None
    data: Path | None
    utterance_seconds: float
    step_seconds: float | None
    coordinator: str | None


def service_times(recipe: Recipe, source: TimesSource) -> "ServiceTimes":
    """Return the times of stages and step, and write the file of measurements if it is not there.

    Raises Unavailable if no coordinator answers, BadShard for a run that is not prepared, and the errors of a file.
    """
    from sonorant.capacity.service_times import ServiceTimes, StepTime

    batch, file = recipe.training.batch_examples, source.measured
    times = ServiceTimes.load(file) if file is not None and file.exists() else _measure(recipe, source)
    if source.step_seconds is not None:
        step = StepTime(seconds=source.step_seconds, examples=batch, source="--step-seconds")
        times = times.model_copy(update={"step": step})
    if source.coordinator is not None:
        times = _as_running(times, source.coordinator, batch, source.step_seconds is None)
    if times.step is None:
        times = times.model_copy(update={"step": _measure_step(recipe, times.utterances.vectors)})
    if file is not None and not file.exists():
        times.save(file)
    return times


def echo_progress(doing: str) -> None:
    """Print what is being done, on standard error."""
    click.echo(f"… {doing}", err=True)


def _measure(recipe: Recipe, source: TimesSource) -> "ServiceTimes":
    """Measure the stages on the run's utterances; on noise without a run, unless it was given."""
    from sonorant.augment.chain import StageResources, build_chain
    from sonorant.capacity.service_times import ServiceTimes, measure_stages

    keep_freed_memory()  # as services do
    with _shards(recipe, source) as (shards, name):
        echo_progress(f"measuring {recipe.name}'s stages on {name}")
        chain = build_chain(recipe, StageResources(shards, data_folder_or_here(source.data)))
        stages, utterances = measure_stages(
            shards, chain, recipe.seed, recipe.pipeline.payload, time.thread_time, _BUDGET_S
        )
    return ServiceTimes(
        recipe=recipe.name,
        utterances=utterances.model_copy(update={"source": f"{len(stages[0].seconds)} utterances of {name}"}),
        stages=stages,
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    )


@contextmanager
def _shards(recipe: Recipe, source: TimesSource) -> "Iterator[tuple[ShardSet, str]]":
    from sonorant.corpus.shards import ShardSet

    run = RunFolder(source.run_path or Path("runs") / recipe.name)
    try:
        shards = ShardSet.open(run.shards, "train")
    except BadShard:
        if source.run_path is not None:
            raise
    else:
        yield shards, str(run.shards)
        return
    from benchmarks.rigs.corpus import write_corpus

    length_s = source.utterance_seconds
    with tempfile.TemporaryDirectory(prefix="sonorant-plan-") as folder:
        write_corpus(Path(folder), _STAND_IN, length_s, recipe.corpus.sample_rate_hz)
        yield ShardSet.open(Path(folder), "train"), f"noise of {length_s:g} s, as there is no {run.shards}"


def _measure_step(recipe: Recipe, vectors: float) -> "StepTime":
    echo_progress("measuring a training step (--step-seconds gives that of another machine)")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # else TensorFlow logs its build flags
    from sonorant.capacity.service_times import StepTime
    from sonorant.features.front_end import FeatureExtractor
    from sonorant.tensorflow import tf
    from sonorant.training.step_time import step_seconds

    bins = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz).bins
    return StepTime(
        seconds=step_seconds(recipe, bins, round(vectors), time.perf_counter),
        examples=recipe.training.batch_examples,
        source=f"measured here, on {'a GPU' if tf.config.list_physical_devices('GPU') else 'this CPU'}",
    )


def _as_running(times: "ServiceTimes", address: str, batch: int, with_step: bool) -> "ServiceTimes":
    """Return measurements whose means are those of a running training: of its stages, CPU time, if reported."""
    from services.coordination.status_client import query_status
    from sonorant.capacity.service_times import StepTime

    busy: dict[str, float] = {}
    rates: dict[str, float] = {}
    for replica in query_status(address).replicas:
        busy[replica.stage] = busy.get(replica.stage, 0.0) + replica.utilisation * _computing(replica)
        rates[replica.stage] = rates.get(replica.stage, 0.0) + replica.examples_per_second
    means_s = {stage: busy[stage] / rate for stage, rate in rates.items() if rate > 0 and busy[stage] > 0}
    if with_step and (example_s := means_s.pop("trainer", None)) is not None:
        step = StepTime(seconds=batch * example_s, examples=batch, source=f"the training at {address}")
        times = times.model_copy(update={"step": step})
    return times.scaled(means_s)


def _computing(replica: "pb.ReplicaStatus") -> float:
    """Return the share of its busy time in which a replica had a core: a planned one has its own."""
    busy_s = seconds(replica.busy)
    return min(1.0, seconds(replica.cpu) / busy_s) if replica.HasField("cpu") and busy_s > 0 else 1.0
