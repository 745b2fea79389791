"""`sonorant results`: trains and measures the systems of a list, and shows all their figures on a page."""

import fnmatch
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from sonorant.atomic import atomic_write
from sonorant.cli.child import run_command
from sonorant.cli.settings import data_option
from sonorant.errors import BadRun, SonorantError
from sonorant.results.kept import KeptReport, keep, read_kept
from sonorant.results.page import render_page
from sonorant.results.systems import CorpusRows, Row, read_systems
from sonorant.run_folder import RunFolder

__all__ = ["command"]

_systems = click.option(
    "--systems", type=click.Path(path_type=Path), default="recipes/results/systems.yaml", show_default=True,
    help="List of systems.",
)  # fmt: skip
_reports = click.option(
    "--reports", type=click.Path(path_type=Path), default="docs/results", show_default=True,
    help="Folder of the kept reports, a file a row.",
)  # fmt: skip


class _SomeFailed(SonorantError):
    """Rows that have no figures, the others have."""

    exit_code = 65


@click.group("results")
def command() -> None:
    """Train and measure the systems of a list, or print the page of those that are measured."""


@command.command("page")
@_systems
@_reports
def _page(systems: Path, reports: Path) -> None:
    """Print the page of results: the kept reports, in the order of the list, and the rows that have none."""
    corpora = read_systems(systems)
    click.echo(render_page(corpora, _kept(corpora, reports)), nl=False)


@command.command("run")
@click.argument("rows", nargs=-1, metavar="[ROW]…")
@_systems
@_reports
@click.option("--runs", type=click.Path(path_type=Path), default="runs/results", show_default=True, help="Their runs.")
@click.option("--page", type=click.Path(path_type=Path), default="docs/results.md", show_default=True, help="The page.")
@data_option
def _run(rows: tuple[str, ...], systems: Path, reports: Path, runs: Path, page: Path, data: Path | None) -> None:
    """Run `sonorant demo` for each row that has no report of its recipe and settings, and write the page after each.

    A row of another one's run has commands of its own, such as `sonorant tune`, on a copy of that run.

    ROW: names of rows, `corpus-system-seed`, or patterns such as 'digits-*'; default: all. Resumes after Ctrl-C or
    SIGTERM. When a row fails the others go on.

    Exit codes: 0 all these rows have reports; 65 some failed; 78 the list or a recipe is wrong; 130 interrupted.
    """
    corpora = read_systems(systems)
    chosen = _chosen([row for corpus in corpora for row in corpus.rows], rows)
    due = [row for row in chosen if not _is_current(row, reports)]
    needed = {one.name: one for row in due for one in row.needs.values()}
    # Reports are kept without runs: those that other rows start from are made once more.
    missing = {name for name, one in needed.items() if not RunFolder(one.run_folder(runs)).summary.exists()}
    failed: dict[str, str] = {}
    for row in chosen:
        if row.name not in missing and _is_current(row, reports):
            click.echo(f"{row.name}: nothing to do: its report is there")
            continue
        if fault := _complete(row, reports, runs, data):
            failed[row.name] = fault
            click.echo(f"{row.name}: {fault}", err=True)
        atomic_write(page, render_page(corpora, _kept(corpora, reports)))
    atomic_write(page, render_page(corpora, _kept(corpora, reports)))
    if failed:
        raise _SomeFailed("\n".join(f"{name}: {fault}" for name, fault in failed.items()))


def _complete(row: Row, reports: Path, runs: Path, data: Path | None) -> str | None:
    """Run a row and keep its report; return what prevented that, if anything."""
    for needed in row.needs.values():
        if not RunFolder(needed.run_folder(runs)).summary.exists():
            return f"needs the run of {needed.name}, which is not in {needed.run_folder(runs)}; name that row too"
    folder = row.run_folder(runs)
    if row.of and not folder.exists():
        _copy(row.needs[row.of].run_folder(runs), folder)
    for words in _commands(row, folder, runs, data):
        ended = run_command(*words)
        if ended.interrupted:
            click.echo("stopped; the same command goes on from there", err=True)
            sys.exit(130)
        if ended.code:
            return f"exit code {ended.code}" + (f"; its logs are below {folder}" if folder.exists() else "")
    try:
        keep(row, RunFolder(folder).summary, reports)
    except BadRun as error:
        return str(error)
    return None


def _commands(row: Row, folder: Path, runs: Path, data: Path | None) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of each `sonorant` command that a row needs, in order."""
    if row.made_by:
        yield row.made_by
    found = (f"--data={row.data or data}",) if row.data or data else ()
    if row.of:
        yield from row.command_lines(runs)
        yield "evaluate", f"--run={folder}", *found
        yield "report", f"--run={folder}", *found
    else:
        settings = (f"--set={assignment}" for assignment in row.assignments(runs))
        yield "demo", f"--recipe={row.recipe}", f"--run={folder}", *found, *settings


def _copy(run: Path, folder: Path) -> None:
    """Copy a run, without what its search brought; a copy that an interruption cut off is begun again."""
    begun = folder.with_name(folder.name + ".copying")
    shutil.rmtree(begun, ignore_errors=True)
    shutil.copytree(run, begun, ignore=shutil.ignore_patterns("report.*", "evaluation.json", "tuning*"))
    begun.rename(folder)


def _is_current(row: Row, reports: Path) -> bool:
    kept = read_kept(row, reports)
    return kept is not None and kept["digest"] == row.digest


def _kept(corpora: Iterable[CorpusRows], reports: Path) -> Mapping[str, KeptReport]:
    rows = (row for corpus in corpora for row in corpus.rows)
    return {row.name: kept for row in rows if (kept := read_kept(row, reports))}


def _chosen(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    for pattern in patterns:
        if not fnmatch.filter([row.name for row in rows], pattern):
            raise click.BadParameter(f"ROW {pattern}: no such row; there are {json.dumps([row.name for row in rows])}")
    return [row for row in rows if not patterns or any(fnmatch.fnmatchcase(row.name, p) for p in patterns)]
