"""Entry point: imports the command's file; maps errors to one line and an exit code."""

import difflib
import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from services.process.signals import leaving_in_order
from sonorant import __version__
from sonorant.errors import SonorantError, Unavailable

__all__ = ["cli", "main"]

_COMMANDS = {
    "audit": "Prove of a run, finished or not, that each example was used exactly once an epoch.",
    "augment": "Write a recording as training gets it, after each stage.",
    "bench": "Measure speed beside the peers'.",
    "demo": "The main job, end to end: prepare, train, export, serve, measure, report.",
    "doctor": "Print what a Kubernetes cluster lacks for an installation.",
    "evaluate": "Serve an exported model and measure it by streaming test sets to it.",
    "export": "Write a checkpoint as a SavedModel that the recognizer serves.",
    "inspect": "Print layers, parameters, latency and operations of a model.",
    "key": "Make an API key for a client of the recognizer.",
    "lm": "Train an n-gram language model on text, or print the perplexity of text.",
    "plan": "Size a cluster for a recipe: pods, cores, memory, network.",
    "prepare": "Write a corpus as TFRecord shards.",
    "pull": "Pull a run from object storage, to audit, evaluate or report it.",
    "recipe": "Show a recipe, or the schema of recipes.",
    "report": "Write report.html and report.json of a run.",
    "results": "Train and measure many systems, and show their figures on a page.",
    "score": "Compare transcripts with references: error rates, BLEU and alignments.",
    "serve": "Serve exported models to streaming clients.",
    "status": "Show the stages, rates and progress of a running training.",
    "text": "Print the transcripts of a prepared run, for language models.",
    "tokenizer": "Learn units, such as sub-words, from text, for recipes to share.",
    "train": "Train on data augmented on the fly; resumes where it stopped.",
    "transcribe": "Stream recordings, or the microphone, to a recognizer.",
    "tune": "Tune the weights of a model's search on dev.",
}

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # where a file is meant, errors name it
_NO_PERMISSION = 77  # of sysexits.h


@contextmanager
def _ending_with_the_reader() -> Iterator[None]:
    """End by SIGPIPE once the reader of the output is gone; click and rich would exit with 1."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        if not any(isinstance(cause, BrokenPipeError) for cause in (error, error.__context__)):
            raise
        _drop(sys.stdout)
        sys.exit(128 + signal.SIGPIPE)


def _drop(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is left of it goes there


class _LazyGroup(click.Group):
    """Imports a command's module only when that command runs, so that `--help` stays quick."""

    @_ending_with_the_reader()
    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        return super().make_context(*args, **kwargs)

    @_ending_with_the_reader()
    def invoke(self, ctx: click.Context) -> Any:
        return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and (near := difflib.get_close_matches(args[0], _COMMANDS, n=1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"sonorant.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sonorant")
def cli() -> None:
    """Train end-to-end speech recognizers on data augmented on the fly, and serve them.

    Exit codes: those of each command's --help; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, unless a command
    says otherwise.
    """


@_ending_with_the_reader()
def main() -> None:
    """Run the command line; exit with the code of the error, or the signal, that ended it."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files may hold any bytes, which UTF-8 cannot
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with leaving_in_order():
            cli(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except SonorantError as error:
        click.echo(f"sonorant: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        if isinstance(error, PermissionError) and error.filename is not None:
            click.echo(f"sonorant: {error.filename}: {error.strerror}; expected to be allowed to use it", err=True)
            sys.exit(_NO_PERMISSION)
        if isinstance(error, FileNotFoundError) and "No usable temporary directory" in str(error):
            click.echo(f"sonorant: {error.strerror}; free disk space, or name another folder with TMPDIR", err=True)
            sys.exit(Unavailable.exit_code)
        if error.errno not in _FULL or error.filename is not None:
            raise
        _drop(sys.stdout)
        try:
            click.echo(f"sonorant: the output cannot be written: {error.strerror}; free disk space", err=True)
        except OSError:  # errors go to the same place
            _drop(sys.stderr)
        sys.exit(Unavailable.exit_code)


if __name__ == "__main__":
    main()
