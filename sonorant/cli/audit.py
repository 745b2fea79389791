"""`sonorant audit`: checks that each example of a run was used exactly once an epoch."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonorant.cli.settings import find_run

if TYPE_CHECKING:
    from sonorant.delivery.audit import Audit

__all__ = ["command"]

_NOT_EXACT = 1
_SHOWN = 20


@click.command("audit")
@click.argument("run_path", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--redis", "redis_url", default="", metavar="URL", help="The ledger's Redis; default: RUN's.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(run_path: Path, redis_url: str, as_json: bool) -> None:
    """Print, epoch by epoch, committed, rejected and re-leased examples, and refused duplicates.

    RUN is a run folder; the training may be over, interrupted, or under way. The check covers the history up to the
    latest checkpoint: later commits are void when training resumes.

    Exit codes: 0 exactly once, but for examples that were rejected, as the last line says; 1 an example was lost or
    used twice; 65 there is no run or no checkpoint, or it is damaged.
    """
    from services.supervisor.past_run import audit_run

    found = audit_run(find_run(run_path), redis_url)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(found) | {"exact": found.exact}))
    else:
        _print(found)
    if not found.exact:
        sys.exit(_NOT_EXACT)


def _print(found: "Audit") -> None:
    from rich.console import Console
    from rich.table import Table

    columns = (
        "epoch",
        "total",
        "committed",
        "trained on",
        "rejected",
        "left",
        "lost",
        "twice",
        "leased again",
        "refused",
    )
    table = Table(*columns)
    for e in found.epochs:
        unknown = "?"
        figures = (e.epoch, e.total, e.committed, e.trained, e.rejected, e.left, e.lost + e.unused, e.twice)
        events = (e.reissued, e.duplicates_refused)
        table.add_row(*(unknown if figure is None else str(figure) for figure in (*figures, *events)))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    for r in found.rejections[:_SHOWN]:
        name = f"epoch {r.lineage.epoch}, shard {r.lineage.shard}, record {r.lineage.index}"
        console.print(f"rejected: {name} ({r.utterance}) at {r.stage}: {r.reason}")
    if len(found.rejections) > _SHOWN:
        console.print(f"… and {len(found.rejections) - _SHOWN} more rejections; --json lists them")
    rejected = sum(epoch.rejected for epoch in found.epochs)
    if rejected > len(found.rejections):
        console.print(
            f"of {rejected} rejections the ledger keeps the reasons of the first {len(found.rejections)} only"
        )
    verdict = "each example exactly once an epoch" if found.exact else "NOT exactly once"
    if rejected:
        verdict += f", without {rejected} of {found.committed + rejected} that were rejected"
    console.print(f"{verdict}: {found.committed} committed, steps trained on {found.trained}, {rejected} rejected")
    if found.skipped_steps:
        console.print(f"{found.skipped_steps} steps were not finite, and changed no weights")
