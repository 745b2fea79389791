"""`sonorant inspect`: a model's layers, parameters, latency and cost."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonorant.cli.settings import data_folder_or_here, resolve_recipe, set_option
from sonorant.errors import BadRun
from sonorant.export.manifest import ENSEMBLE, MANIFEST, member_folders, read_manifest, verify_files
from sonorant.recipe.loading import load_recipe
from sonorant.run_folder import RunFolder

if TYPE_CHECKING:
    from sonorant.models.figures import Inspection
    from sonorant.recipe import Recipe

__all__ = ["command"]

_ASSUMED_UNITS = 32
_WIDTH = 200  # of a pipe, where nothing is cut off


@click.command("inspect")
@click.argument("source", type=click.Path(exists=True, path_type=Path), metavar="RECIPE|RUN|EXPORT")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@set_option
def command(source: Path, as_json: bool, assignments: tuple[str, ...]) -> None:
    """Print layers, shapes, parameters, receptive field, latency, operations and memory of a model.

    Takes a recipe's file, the folder of a run or of an exported model, `exports/<model>/<version>`; of an ensemble,
    each member is shown, and JSON has them in `members`. The units of a recipe are those of its tokenizer or of
    runs/<name> with the same text; if there are none yet, `text.pieces`, or 32 are assumed.

    Exit codes: 65 the folder has no recipe, or units or an export's files are damaged; 78 the recipe is wrong.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # else TensorFlow logs its build flags
    members = _members(source)
    inspected = [_inspected(one, assignments) for one in members or [source]]
    if as_json:
        figures = [asdict(of) | {"units_from": origin} for of, origin in inspected]
        click.echo(json.dumps({"members": figures} if members else figures[0], indent=2))
        return
    for number, (of, origin) in enumerate(inspected):
        if members:
            click.echo(f"member {number} of {len(inspected)}:")
        _show(of, origin)


def _members(source: Path) -> list[Path]:
    """Return the folders of an ensemble's members; none of anything else. Raises BadExport for a damaged export."""
    if not (source / MANIFEST).is_file() or not (source / "recipe.yaml").is_file():
        return []
    manifest = read_manifest(source)
    verify_files(source, manifest)
    return member_folders(source) if manifest.signature == ENSEMBLE else []


def _inspected(source: Path, assignments: tuple[str, ...]) -> tuple["Inspection", str]:
    """Return the figures of one model, and where its number of units is from."""
    if source.is_dir():
        if assignments:
            raise click.UsageError(f"--set changes a recipe; {source} is a folder, whose model is made: leave it out")
        path = source / "recipe.yaml"
        if not path.is_file():
            raise BadRun(f"{source}: has no {path.name}; expected a recipe, a run folder or an exported model")
        recipe = load_recipe(path)
        folder = source / "units.json" if (source / "units.json").is_file() else RunFolder(source).shards / "units.json"
    else:
        recipe = resolve_recipe(source, assignments)
        folder = _tokenizer(recipe) if recipe.text.tokenizer is not None else _of_a_run(recipe)
    units, origin = _units(recipe, folder)
    from sonorant.models.inspection import inspect_model

    return inspect_model(recipe, units), origin


def _tokenizer(recipe: "Recipe") -> Path:
    """Return the path of the recipe's tokenizer; raises BadCorpus for one of other units, if it is there."""
    from sonorant.corpus.tokenizer import read_tokenizer

    data_folder = data_folder_or_here(None)
    if (path := data_folder / str(recipe.text.tokenizer)).is_file():
        read_tokenizer(recipe.text, data_folder)
    return path


def _of_a_run(recipe: "Recipe") -> Path:
    """Return the path of the units of runs/<name>, if that is of the same text; else one where there are none."""
    run = RunFolder(Path("runs") / recipe.name)
    is_of_it = run.recipe.is_file() and load_recipe(run.recipe).text == recipe.text
    return run.shards / "units.json" if is_of_it else Path()


def _units(recipe: "Recipe", path: Path) -> tuple[int, str]:
    """Return the number of units, and where it is from."""
    from sonorant.text.section import SUBWORDS
    from sonorant.text.units import read_units

    if path.is_file():
        return read_units(path).size, str(path)
    missing = f"text.tokenizer={recipe.text.tokenizer} is not there" if recipe.text.tokenizer else ""
    if recipe.text.units in SUBWORDS:
        return recipe.text.pieces, f"text.pieces, as {missing}" if missing else "text.pieces"
    return _ASSUMED_UNITS, f"assumed, as {missing or 'no run with this text is prepared'}"


def _show(figures: "Inspection", origin: str) -> None:
    from rich.console import Console

    from sonorant.report.inspection_view import render_inspection

    Console(width=None if sys.stdout.isatty() else _WIDTH).print(render_inspection(figures, origin), soft_wrap=True)
