"""The sources of settings: default < recipe < environment < flag; resolved here, once, for all commands."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from sonorant.errors import BadCorpus, BadRun
from sonorant.recipe import Recipe
from sonorant.recipe.document import Override
from sonorant.recipe.loading import load_recipe
from sonorant.run_folder import RunFolder

__all__ = [
    "BROUGHT",
    "data_folder_or_here",
    "data_option",
    "find_data_folder",
    "find_run",
    "host_port",
    "read_overrides",
    "resolve_recipe",
    "set_option",
]

BROUGHT = Path(".cache/data")  # where `sonorant demo` puts downloaded recordings

_PREFIX = "SONORANT_"
_OF_NO_SECTION = (f"{_PREFIX}SEED", f"{_PREFIX}NAME")
_BESIDE = Path("../shared/data")
_IN_A_POD = "KUBERNETES_SERVICE_HOST"  # Kubernetes sets it in each

set_option: Callable[[Any], Any] = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override the recipe, e.g. --set training.ranks=2 (also: SONORANT_TRAINING__RANKS=2). Repeatable.",
)

data_option: Callable[[Any], Any] = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder that holds the corpora; default: SONORANT_DATA, ../shared/data, or the folder of `sonorant demo`.",
)


def resolve_recipe(path: Path, assignments: Iterable[str] = ()) -> Recipe:
    """Load a recipe with the overrides of environment and flags; raises BadRecipe and click.BadParameter."""
    return load_recipe(path, read_overrides(os.environ, assignments))


def read_overrides(environment: Mapping[str, str], assignments: Iterable[str]) -> list[Override]:
    """Return the overrides, weakest first.

    `SONORANT_TRAINING__RANKS` sets training.ranks, `SONORANT_SEED` and `SONORANT__SEED` set seed; another name without
    the double underscore (SONORANT_DATA, or Kubernetes' of a Service) is not the recipe's.
    """
    overrides = []
    for name, value in sorted(environment.items()):
        if name.startswith(_PREFIX) and ("__" in name or name in _OF_NO_SECTION):
            key = name.removeprefix(_PREFIX).replace("__", ".").lower().lstrip("_.")
            overrides.append(Override(key, value, name))
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"--set {assignment}: expected KEY=VALUE, such as training.ranks=2")
        overrides.append(Override(key.strip(), value, f"--set {key.strip()}"))
    return overrides


def find_data_folder(given: Path | None) -> Path:
    """Return the folder above the corpora: the given one, SONORANT_DATA, ../shared/data, or the demo's.

    Raises BadCorpus without one, or when the given one does not exist.
    """
    if given is None and (named := os.environ.get("SONORANT_DATA")):
        given = Path(named)
    for folder in (given,) if given is not None else (_BESIDE, BROUGHT):
        if folder.is_dir():
            return folder
    claim = ", or its volume's claim with data.claim" if _IN_A_POD in os.environ else ""
    advice = f"give the folder that holds the corpora with --data or SONORANT_DATA{claim}"
    raise BadCorpus(f"{given or _BESIDE}: no such folder; {advice}")


def data_folder_or_here(given: Path | None) -> Path:
    """Return the folder above the corpora; by default this one, as only recordings of noise need it.

    Raises BadCorpus when the given one does not exist.
    """
    try:
        return find_data_folder(given)
    except BadCorpus:
        if given is not None:
            raise
        return Path()


def find_run(path: Path) -> RunFolder:
    """Return the run in the folder `path`; raises BadRun without one."""
    run = RunFolder(path)
    if not run.recipe.is_file():
        raise BadRun(f"{path}: no run here (no {run.recipe.name}); give the folder of a run that is prepared")
    return run


def host_port(example: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return the callback that refuses an address without a port, for which gRPC would take that of HTTPS."""

    def checked(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
        if value is not None and (not re.fullmatch(r"\S*[^\s:]:\d{1,5}", value) or re.match("https?://", value)):
            raise click.BadParameter(f"found {value!r}, expected HOST:PORT, such as {example}")
        return value

    return checked
