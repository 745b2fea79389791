"""`sonorant bench`: measures speed, and peers in the same run."""

import importlib
import json
import pkgutil
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict

import click

import benchmarks
from benchmarks.row import Row

__all__ = ["command"]

_SHARED = {"limit", "row", "timing"}  # modules that benchmarks use
_NAMES = sorted({m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.ispkg} - _SHARED)


@click.command("bench")
@click.argument("name", type=click.Choice(_NAMES))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of rows, at the end.")
def command(name: str, as_json: bool) -> None:
    """Run benchmark NAME and print its rows: name, case, value, unit, peer, peer_value, ratio.

    ratio is value / peer_value. Peers need the extra `bench`; rows are printed without missing ones.
    """
    from services.process.logging import log_to_stderr

    log_to_stderr("bench")
    rows = []
    benchmark = importlib.import_module(f"benchmarks.{name}")
    with _leaving_in_order(), closing(benchmark.rows(lambda doing: click.echo(f"… {doing}", err=True))) as measured:
        for row in measured:
            rows.append(row)
            if not as_json:
                click.echo(_line(row))
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))


@contextmanager
def _leaving_in_order() -> Iterator[None]:
    """Raise on SIGTERM, so that the benchmark ends its child processes."""
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _line(row: Row) -> str:
    line = f"{row.name:20} {row.case:32} {row.value:10.4g} {row.unit:22}"
    if row.peer is None or row.peer_value is None:
        return line.rstrip()
    return f"{line} {row.peer} {row.peer_value:.4g}, ratio {row.ratio:.3g}"
