"""`sonorant plan`: sizes a cluster for a recipe."""

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from services.coordination.durations import seconds
from services.process.memory import keep_freed_memory
from sonorant.atomic import atomic_write
from sonorant.cli.settings import data_folder_or_here, data_option, host_port, resolve_recipe, set_option
from sonorant.errors import BadShard
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

if TYPE_CHECKING:
    from sonorant.capacity.cluster_plan import ClusterPlan
    from sonorant.capacity.scenario import Moment
    from sonorant.capacity.service_times import ServiceTimes, StepTime
    from sonorant.corpus.shards import ShardSet
    from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["command"]

_BUDGET_S = 3.0  # of measuring the stages
_POINTS = 40  # of a curve
_STAND_IN = 32  # utterances without a prepared run


@click.command("plan")
@click.option("--recipe", "recipe_path", required=True, type=click.Path(path_type=Path), help="Recipe to plan for.")
@click.option("--gpus", type=click.IntRange(1, 65_536), required=True, help="Ranks of the trainer, a GPU each.")
@click.option("--hours", type=click.FloatRange(0, min_open=True), required=True, help="Hours of speech in an epoch.")
@click.option(
    "--step-seconds", type=click.FloatRange(0, min_open=True),
    help="Time of a training step on your GPU, without waits; default: that of --coordinator's training, or "
    "else measured on this machine.",
)  # fmt: skip
@click.option("--cores", type=click.FloatRange(1), default=float("inf"), help="Limit on the cores of all stages.")
@click.option(
    "--utilisation", type=click.FloatRange(0.1, 1.0), default=0.8, show_default=True,
    help="Target busy share of a stage.",
)  # fmt: skip
@click.option(
    "--run", "run_path", type=click.Path(path_type=Path),
    help="Prepared run whose utterances are measured; default: runs/<name of the recipe>, or else noise of "
    "--utterance-seconds.",
)  # fmt: skip
@click.option(
    "--utterance-seconds", type=click.FloatRange(0.1, 60), default=12.0, show_default=True,
    help="Length of the utterances, without a prepared run.",
)  # fmt: skip
@click.option(
    "--coordinator",
    metavar="HOST:PORT",
    callback=host_port("localhost:7100"),
    help="Take mean service times from its running training: CPU time, so without waits for storage.",
)
@click.option(
    "--measured", type=click.Path(path_type=Path), help="File of measurements: read if it exists, else written."
)
@click.option(
    "--plot", type=click.Path(path_type=Path), help="SVG file to draw: plans for 1 to GPUS, and their limits."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@data_option
@set_option
def command(
    recipe_path: Path,
    gpus: int,
    hours: float,
    step_seconds: float | None,
    cores: float,
    utilisation: float,
    run_path: Path | None,
    utterance_seconds: float,
    coordinator: str | None,
    measured: Path | None,
    plot: Path | None,
    as_json: bool,
    data: Path | None,
    assignments: tuple[str, ...],
) -> None:
    """Print pods, cores, memory, network and Redis load of each stage, for GPUS and HOURS of speech.

    Service times are measured here, in a few seconds, from the recipe's own stages. A simulation of the planned cluster
    checks the plan. Exit codes: 0 planned, also if the plan does not meet the demand; 65 measurements
    or shards cannot be used; 69 no coordinator answers; 78 the recipe is wrong.
    """
    import numpy as np

    from sonorant.capacity.cluster_plan import plan_cluster, rehearse
    from sonorant.capacity.service_times import StepTime

    recipe = resolve_recipe(recipe_path, assignments)
    times = _measured(measured) if measured is not None else None
    if times is None:
        run = RunFolder(run_path or Path("runs") / recipe.name)
        times = _measure(recipe, run, run_path is not None, utterance_seconds, data)
    if step_seconds is not None:
        given = StepTime(seconds=step_seconds, examples=recipe.training.batch_examples, source="--step-seconds")
        times = times.model_copy(update={"step": given})
    if coordinator is not None:
        times = _as_running(times, coordinator, recipe.training.batch_examples, step_seconds is None)
    if times.step is None:
        times = times.model_copy(update={"step": _measure_step(recipe, times.utterances.vectors)})
    if measured is not None and not measured.exists():
        times.save(measured)
    _say("simulating")
    planner = partial(plan_cluster, recipe, times, hours=hours, utilisation=utilisation, cores=cores)
    rehearsal = partial(rehearse, recipe, times, rng=np.random.default_rng(recipe.seed))
    plan = planner(gpus)
    _print(plan, rehearsal(plan), times, as_json)
    if plot is not None:
        _draw(plot, gpus, planner, rehearsal)


def _draw(
    path: Path, most: int, planner: "Callable[[int], ClusterPlan]", rehearsal: "Callable[[ClusterPlan], Moment]"
) -> None:
    """Draw plans for numbers of GPUs up to `most`, and simulations of the powers of 4 among them."""
    from sonorant.report.scaling_plot import scaling_plot

    numbers = sorted({max(1, round(most ** (at / _POINTS))) for at in range(_POINTS + 1)})
    powers = [number for number in (4**at for at in range(9)) if number <= most]
    simulated = {number: rehearsal(planner(number)).rate for number in powers}
    atomic_write(path, scaling_plot([planner(number) for number in numbers], simulated))
    _say(f"drawn: {path}")


def _say(doing: str) -> None:
    click.echo(f"… {doing}", err=True)


def _measured(path: Path) -> "ServiceTimes | None":
    from sonorant.capacity.service_times import ServiceTimes

    return ServiceTimes.load(path) if path.exists() else None


def _measure(recipe: Recipe, run: RunFolder, needed: bool, seconds: float, data: Path | None) -> "ServiceTimes":
    """Measure the stages on the run's utterances; on noise without a run, unless it is `needed`."""
    from sonorant.augment.chain import StageResources, build_chain
    from sonorant.capacity.service_times import ServiceTimes, measure_stages

    keep_freed_memory()  # as services do
    with _shards(recipe, run, needed, seconds) as (shards, source):
        _say(f"measuring {recipe.name}'s stages on {source}")
        chain = build_chain(recipe, StageResources(shards, data_folder_or_here(data)))
        stages, utterances = measure_stages(
            shards, chain, recipe.seed, recipe.pipeline.payload, time.thread_time, _BUDGET_S
        )
    return ServiceTimes(
        recipe=recipe.name,
        utterances=utterances.model_copy(update={"source": f"{len(stages[0].seconds)} utterances of {source}"}),
        stages=stages,
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    )


@contextmanager
def _shards(recipe: Recipe, run: RunFolder, needed: bool, seconds: float) -> "Iterator[tuple[ShardSet, str]]":
    from sonorant.corpus.shards import ShardSet

    try:
        shards = ShardSet.open(run.shards, "train")
    except BadShard:
        if needed:
            raise
    else:
        yield shards, str(run.shards)
        return
    from benchmarks.rigs.corpus import write_corpus

    with tempfile.TemporaryDirectory(prefix="sonorant-plan-") as folder:
        write_corpus(Path(folder), _STAND_IN, seconds, recipe.corpus.sample_rate_hz)
        yield ShardSet.open(Path(folder), "train"), f"noise of {seconds:g} s, as there is no {run.shards}"


def _measure_step(recipe: Recipe, vectors: float) -> "StepTime":
    _say("measuring a training step (--step-seconds gives that of another machine)")
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


def _print(plan: "ClusterPlan", rehearsed: "Moment", times: "ServiceTimes", as_json: bool) -> None:
    if as_json:
        measured = times.model_dump(exclude={"stages": {"__all__": {"seconds"}}})
        values = {"plan": asdict(plan), "simulated": asdict(rehearsed), "measured": measured}
        click.echo(json.dumps(values, indent=1, default=lambda section: section.model_dump()))
        return
    from rich.console import Console

    from sonorant.report.plan_view import render_plan

    Console().print(render_plan(plan, rehearsed, times), soft_wrap=True)
