"""`sonorant doctor`: checks a cluster before an installation."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from sonorant.errors import BadRecipe

__all__ = ["command", "merge_values"]

_LACKS = 1  # exit code
_MARKS = {"well": ("✓", "green"), "warning": ("!", "yellow"), "failure": ("✗", "red")}


@click.command("doctor")
@click.option(
    "-f", "--values", "files", multiple=True, type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Values, as for helm install; a later file wins.",
)  # fmt: skip
@click.option("-n", "--namespace", default="default", show_default=True, help="Namespace of the installation.")
@click.option("--release", default="", help="Name of the release; its own pods then count as free capacity.")
@click.option("--context", "context_name", help="Context of the kubeconfig; default: the current one.")
@click.option(
    "--chart", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path("charts/sonorant"),
    show_default=True, help="The chart, for defaults of the values.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of findings.")
def command(
    files: tuple[Path, ...],
    namespace: str,
    release: str,
    context_name: str | None,
    chart: Path,
    as_json: bool,
) -> None:
    """Print what the cluster lacks for an installation; changes nothing. Exit code 1: it will not run."""
    from services.doctor.checks import examine
    from services.doctor.cluster import connect, look_at
    from services.doctor.permissions import VERBS
    from services.doctor.values import misshapen, unfit_release

    if release and (why := unfit_release(release)):
        raise BadRecipe(f"--release {release}: {why}")
    schema = json.loads(_part(chart, "values.schema.json").read_text())
    values: dict[str, Any] = {}
    for path in (_part(chart, "values.yaml"), *files):
        given = _load(path)
        if faults := misshapen(given, schema):
            raise BadRecipe("\n".join(f"{path}: {fault}" for fault in faults))
        values = merge_values(values, given)
    findings = examine(look_at(connect(context_name), namespace, VERBS, release), values, namespace)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            mark, colour = _MARKS[finding.level]
            click.echo(f"{click.style(mark, fg=colour)} {finding.about}: {finding.says}")
    if any(finding.level == "failure" for finding in findings):
        sys.exit(_LACKS)


def _part(chart: Path, name: str) -> Path:
    if not (chart / name).is_file():
        raise BadRecipe(f"{chart}: is no sonorant chart (no {name}); give the folder of one, as charts/sonorant")
    return chart / name


def _load(path: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        values = YAML(typ="safe").load(path)
    except (YAMLError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, or an invalid number
        raise BadRecipe(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    except OSError as error:
        raise BadRecipe(f"{path}: cannot be read: {error.strerror}") from error
    if not isinstance(values, dict):
        raise BadRecipe(f"{path}: must hold keys and values, as charts/sonorant/values.yaml does")
    try:
        json.dumps(values, default=str, skipkeys=True)
    except (ValueError, RecursionError) as error:
        raise BadRecipe(f"{path}: a value holds itself, or others too deep to be read") from error
    return values


def merge_values(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge values as Helm does: mappings key by key, all else whole, null removes a key's default."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = merge_values(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged
