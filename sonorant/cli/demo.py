"""`sonorant demo`: the main job, as a sequence of commands."""

import sys
import time
from pathlib import Path

import click

from sonorant.cli.child import run_command
from sonorant.cli.prepare import SOME_SKIPPED
from sonorant.cli.settings import BROUGHT, data_option, find_data_folder, resolve_recipe, set_option
from sonorant.cli.train import SOME_REJECTED
from sonorant.errors import BadCorpus

__all__ = ["command"]


@click.command("demo")
@click.option("--recipe", type=click.Path(path_type=Path), required=True, help="Recipe to run.")
@click.option("--run", type=click.Path(path_type=Path), help="Run folder; default: runs/<name of the recipe>.")
@data_option
@set_option
def command(recipe: Path, run: Path | None, data: Path | None, assignments: tuple[str, ...]) -> None:
    """Prepare, train, export, evaluate and report, each unless it is done; resumes after Ctrl-C or SIGTERM.

    Without recordings it downloads the Free Spoken Digit Dataset; without a network espeak-ng synthesises them.

    Exit codes: 0 all of it is done; else that of the command that failed, whose --help explains it, or 65 or 69 where
    no recordings can be had; 78 the recipe is wrong; 130 interrupted, the same command goes on.
    """
    name = resolve_recipe(recipe, assignments).name
    run = run or Path("runs") / name
    data = _recordings(data)
    settings = [f"--set={assignment}" for assignment in assignments]
    began = time.monotonic()
    _run("prepare", f"--recipe={recipe}", f"--run={run}", f"--data={data}", *settings, fine=(0, SOME_SKIPPED))
    _run("train", f"--recipe={recipe}", f"--run={run}", f"--data={data}", *settings, fine=(0, SOME_REJECTED))
    _run("export", f"--run={run}")
    _run("evaluate", f"--run={run}", f"--data={data}")
    _run("report", f"--run={run}", f"--data={data}")
    click.echo(f"Done in {(time.monotonic() - began) / 60:.1f} minutes. Look at {run}/report.html")


def _recordings(given: Path | None) -> Path:
    try:
        return find_data_folder(given)
    except BadCorpus:
        if given is not None:
            raise
    from sonorant.cli.digits_corpus import obtain_digits

    obtain_digits(BROUGHT, click.echo)
    return BROUGHT


def _run(*arguments: str, fine: tuple[int, ...] = (0,)) -> None:
    """Run and show one `sonorant` command; exit with its code if it fails."""
    ended = run_command(*arguments)
    if ended.code not in fine:
        sys.exit(ended.code)
