"""The planner's options on the command line: each has a default, and all together are its settings."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from services.process.parameters import NumberRange
from sonorant.capacity.planner import PlannerSettings
from sonorant.capacity.sizing import MOST, Bounds

__all__ = ["planner_options"]


def planner_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them as one argument, `settings`."""

    @wraps(command)
    def parsed(
        utilisation: float,
        cores: float,
        window_s: float,
        stabilisation_s: float,
        bounds: dict[str, Bounds],
        **others: Any,
    ) -> None:
        settings = PlannerSettings(
            utilisation=utilisation, cores=cores, window_s=window_s, stabilisation_s=stabilisation_s, bounds=bounds
        )
        command(settings=settings, **others)

    options: Callable[..., None] = parsed
    for option in reversed(_OPTIONS):
        options = option(options)
    return options


def _bounds(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, Bounds]:
    """Parse STAGE=LEAST:MOST[:CORES] of some stages."""
    found = {}
    for value in values:
        stage, _, text = value.partition("=")
        try:
            least, most, *cores = text.split(":")
            found[stage] = Bounds(int(least or 1), int(most or MOST), *(float(c) for c in cores))
        except (ValueError, TypeError) as error:
            raise click.BadParameter(f"{value!r}: need STAGE=LEAST:MOST[:CORES], as room=1:40:0.5 ({error})") from error
    return found


_OPTIONS = (
    click.option(
        "--utilisation", type=NumberRange(0.1, 1.0), default=0.8, show_default=True,
        help="Target busy share of a stage.",
    ),
    click.option(
        "--cores", type=NumberRange(min=0, min_open=True), default=float("inf"),
        help="Limit for all stages together.",
    ),
    click.option("--window-s", type=NumberRange(1), default=30.0, show_default=True, help="Of measurements."),
    click.option(
        "--stabilisation-s", type=NumberRange(0), default=120.0, show_default=True,
        help="Time for which fewer replicas must have sufficed before a scale-down.",
    ),
    click.option(
        "--bounds", multiple=True, callback=_bounds, metavar="STAGE=LEAST:MOST[:CORES]",
        help="Replicas that a stage may have, and cores of one; repeatable.",
    ),
)  # fmt: skip
