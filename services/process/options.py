"""Options that several services have on their command lines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from services.process.parameters import NumberRange

__all__ = [
    "health_port_option",
    "max_iteration_option",
    "metrics_port_option",
    "patience_option",
    "recipe_option",
    "redis_option",
    "run_option",
    "stay_option",
    "store_option",
]

_Option = Callable[[Any], Any]

run_option: _Option = click.option(
    "--run",
    "run_path",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of the run: recipe.yaml and shards.",
)
store_option: _Option = click.option(
    "--store",
    "store_url",
    envvar="SONORANT_STORE",
    default="",
    metavar="URL",
    help="Object storage that holds the run for all processes, such as s3://BUCKET/runs/digits; absent: all mount "
    "the run's folder (also: SONORANT_STORE; credentials: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL).",
)
recipe_option: _Option = click.option(
    "--recipe", "recipe_path", type=click.Path(path_type=Path, dir_okay=False), help="Recipe; absent: the run's."
)
redis_option: _Option = click.option(
    "--redis",
    "redis_url",
    envvar="SONORANT_REDIS",
    required=True,
    metavar="URL",
    help="The ledger's Redis: redis://HOST:PORT/0 or unix:///path/to/socket (also: SONORANT_REDIS).",
)
patience_option: _Option = click.option(
    "--patience-s",
    type=NumberRange(min=0),
    default=0.0,
    show_default=True,
    help="Seconds to wait for what others make: shards, Redis, a first model; 0: it is there.",
)
health_port_option: _Option = click.option(
    "--health-port", type=click.IntRange(0, 65535), help="Port of the gRPC health service; absent: none."
)
metrics_port_option: _Option = click.option(
    "--metrics-port", type=click.IntRange(0, 65535), help="Port of Prometheus' /metrics, over HTTP; absent: none."
)
max_iteration_option: _Option = click.option(
    "--max-iteration-s",
    type=NumberRange(min=1),
    help="Limit of an iteration of the main loop, in seconds; beyond it the process exits with 75; absent: none.",
)
stay_option: _Option = click.option(
    "--stay", is_flag=True, help="Do not exit when the run is complete: for supervisors that would restart the process."
)
