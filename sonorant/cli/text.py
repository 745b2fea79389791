"""`sonorant text`: the transcripts of a prepared run, for language models."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonorant.cli.output_path import check_output
from sonorant.cli.settings import find_run

if TYPE_CHECKING:
    from sonorant.run_folder import RunFolder
    from sonorant.text.units import Units

__all__ = ["command"]


@click.command("text")
@click.argument("run_path", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--split", type=click.Choice(["train", "dev", "test", "unseen_speaker"]), default="train", show_default=True,
    help="Which transcripts.",
)  # fmt: skip
@click.option(
    "--units",
    "spelt",
    is_flag=True,
    help="Spell them in the run's units, as a language model with tokens: units has it.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write; default: print.")
def command(run_path: Path, split: str, spelt: bool, output: Path | None) -> None:
    """Print the normalised transcripts of a prepared run, a sentence a line.

    They are text for `sonorant lm`, for a language model's recipe (reader: text), and to report perplexity of. With
    --units lines are left out that the units do not spell; their number is printed at the end.

    Exit codes: 65 the run has no such split, or it is damaged; 69 the output cannot be written.
    """
    from sonorant.atomic import atomic_file
    from sonorant.corpus.shards import ShardSet

    check_output(output, ())
    run = find_run(run_path)
    shards = ShardSet.open(run.shards, split)
    texts = (record.text for record in shards)
    lines = _spelt(run, texts) if spelt else texts
    written = 0
    with atomic_file(output) if output else nullcontext(sys.stdout.buffer) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
            written += 1
        file.flush()
    if written < shards.total:
        left_out = f"{shards.total - written} of {shards.total} lines left out"
        click.echo(f"{left_out}: the {_units(run)} do not spell them", err=True)


def _units(run: "RunFolder") -> "Units":
    from sonorant.text.units import read_units

    return read_units(run.shards / "units.json")


def _spelt(run: "RunFolder", texts: Iterable[str]) -> Iterator[str]:
    """Yield the units of each text that they spell, the space among them as a token."""
    from sonorant.errors import RejectedExample
    from sonorant.text.pieces import WORD_START

    units = _units(run)
    for text in texts:
        with suppress(RejectedExample):
            yield " ".join(units.symbols[unit].replace(" ", WORD_START) for unit in units.labels(text))
