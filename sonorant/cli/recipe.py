"""`sonorant recipe`: show, check, values, schema, reference, stages."""

import json
from pathlib import Path

import click

from sonorant.augment.table import STAGES
from sonorant.cli.settings import resolve_recipe, set_option
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.reference import reference

__all__ = ["command"]

_file = click.argument("file", type=click.Path(path_type=Path))


@click.group("recipe")
def command() -> None:
    """Show or check a recipe, print it for a chart, or print schema, reference and stages."""


@command.command("show")
@_file
@set_option
def _show(file: Path, assignments: tuple[str, ...]) -> None:
    """Print FILE with all defaults and overrides resolved, as YAML."""
    click.echo(dump_recipe(resolve_recipe(file, assignments)), nl=False)


@command.command("check")
@_file
@set_option
def _check(file: Path, assignments: tuple[str, ...]) -> None:
    """Validate FILE. Lists every fault and exits with 78 if there is one."""
    recipe = resolve_recipe(file, assignments)
    click.echo(f"{file}: recipe {recipe.name}, version {recipe.version}: valid")


@command.command("values")
@_file
@set_option
def _values(file: Path, assignments: tuple[str, ...]) -> None:
    """Print FILE, resolved, as the chart's value `recipe`. For `sonorant recipe values FILE | helm install … -f -`."""
    lines = dump_recipe(resolve_recipe(file, assignments)).splitlines()
    click.echo("\n".join(["recipe:", *(f"  {line}" for line in lines)]))


@command.command("schema")
def _schema() -> None:
    """Print the JSON Schema of recipes."""
    click.echo(json.dumps(Recipe.model_json_schema(), indent=2, ensure_ascii=False))


@command.command("reference")
def _reference() -> None:
    """Print every section and key, as a page in Markdown."""
    click.echo(reference(Recipe.model_json_schema()), nl=False)


@command.command("stages")
def _stages() -> None:
    """Print the stages of recipes, as Markdown."""
    rows = [("stage", "what it does", "after"), ("---", "---", "---")]
    rows += [(f"`{name}`", stage.effect, stage.source) for name, stage in STAGES.items()]
    click.echo("\n".join(f"| {name} | {effect} | {source} |" for name, effect, source in rows))
