"""`sonorant bench`: measures speed, and peers in the same run."""

import ast
import importlib
import json
import pkgutil
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click

import benchmarks
from benchmarks.row import Row

__all__ = ["command"]

_SHARED = {"limit", "row", "timing"}  # modules that benchmarks use
_NAMES = sorted({m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.ispkg} - _SHARED)
_JSON = "as_json"


class _Benchmarks(click.Group):
    """A command a benchmark, with the options that its module has beside `--json`; imported when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return _NAMES

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _NAMES:
            return None
        benchmark = importlib.import_module(f"benchmarks.{cmd_name}")
        as_json = click.Option(["--json", _JSON], is_flag=True, help="Print a JSON array of rows, at the end.")
        return click.Command(
            cmd_name,
            params=[*getattr(benchmark, "OPTIONS", ()), as_json],
            callback=lambda **options: _run(cmd_name, **options),
            help=benchmark.__doc__,
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _NAMES and not args[0].startswith("-"):
            raise click.BadParameter(
                f"{args[0]!r} is not one of {', '.join(map(repr, _NAMES))}.", ctx, param_hint="NAME"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Benchmarks"):
            formatter.write_dl([(name, _first_line(name)) for name in _NAMES])


def _first_line(name: str) -> str:
    """Return the first line of a benchmark's docstring, without what importing it would load."""
    source = (Path(benchmarks.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


@click.command("bench", cls=_Benchmarks, subcommand_metavar="NAME [OPTIONS]")
def command() -> None:
    """Run benchmark NAME and print its rows: name, case, value, unit, peer, peer_value, ratio.

    ratio is value / peer_value. Peers need the extra `bench`; rows are printed without missing ones.
    """


def _run(name: str, **options: object) -> None:
    from services.process.logging import log_to_stderr

    log_to_stderr("bench")
    rows = []
    as_json = options.pop(_JSON)
    benchmark = importlib.import_module(f"benchmarks.{name}")
    measuring = benchmark.rows(lambda doing: click.echo(f"… {doing}", err=True), **options)
    with closing(measuring) as measured:
        for row in measured:
            rows.append(row)
            if not as_json:
                click.echo(_line(row))
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))


def _line(row: Row) -> str:
    line = f"{row.name:20} {row.case:32} {row.value:10.4g} {row.unit:22}"
    if row.peer is None or row.peer_value is None:
        return line.rstrip()
    ratio = "" if row.ratio is None else f", ratio {row.ratio:.3g}"
    return f"{line} {row.peer} {row.peer_value:.4g}{ratio}"
