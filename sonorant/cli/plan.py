"""`sonorant plan`: sizes a cluster for a recipe."""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from services.process.parameters import NumberRange
from sonorant.atomic import atomic_write
from sonorant.cli.plan_times import TimesSource, echo_progress, service_times
from sonorant.cli.settings import data_option, host_port, resolve_recipe, set_option

if TYPE_CHECKING:
    from sonorant.capacity.cluster_plan import ClusterPlan
    from sonorant.capacity.scenario import Moment
    from sonorant.capacity.service_times import ServiceTimes

__all__ = ["command"]

_POINTS = 40  # of a curve


@click.command("plan")
@click.option("--recipe", "recipe_path", required=True, type=click.Path(path_type=Path), help="Recipe to plan for.")
@click.option("--gpus", type=click.IntRange(1, 65_536), required=True, help="Ranks of the trainer, a GPU each.")
@click.option("--hours", type=NumberRange(0, min_open=True), required=True, help="Hours of speech in an epoch.")
@click.option(
    "--step-seconds", type=NumberRange(0, min_open=True),
    help="Time of a training step on your GPU, without waits; default: that of --coordinator's training, or "
    "else measured on this machine.",
)  # fmt: skip
@click.option("--cores", type=NumberRange(1), default=float("inf"), help="Limit on the cores of all stages.")
@click.option(
    "--utilisation", type=NumberRange(0.1, 1.0), default=0.8, show_default=True,
    help="Target busy share of a stage.",
)  # fmt: skip
@click.option(
    "--run", "run_path", type=click.Path(path_type=Path),
    help="Prepared run whose utterances are measured; default: runs/<name of the recipe>, or else noise of "
    "--utterance-seconds.",
)  # fmt: skip
@click.option(
    "--utterance-seconds", type=NumberRange(0.1, 60), default=12.0, show_default=True,
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

    recipe = resolve_recipe(recipe_path, assignments)
    recipe.require_speech("augment, whose stages a plan is of")
    source = TimesSource(measured, run_path, data, utterance_seconds, step_seconds, coordinator)
    times = service_times(recipe, source)
    echo_progress("simulating")
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
    echo_progress(f"drawn: {path}")


def _print(plan: "ClusterPlan", rehearsed: "Moment", times: "ServiceTimes", as_json: bool) -> None:
    if as_json:
        measured = times.model_dump(exclude={"stages": {"__all__": {"seconds"}}})
        values = {"plan": asdict(plan), "simulated": asdict(rehearsed), "measured": measured}
        click.echo(json.dumps(values, indent=1, default=lambda section: section.model_dump()))
        return
    from rich.console import Console

    from sonorant.report.plan_view import render_plan

    Console().print(render_plan(plan, rehearsed, times), soft_wrap=True)
