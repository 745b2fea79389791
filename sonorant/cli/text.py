"""`sonorant text`: the transcripts of a prepared run, for language models."""

import sys
from pathlib import Path

import click

from sonorant.cli.settings import find_run

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
def command(run_path: Path, split: str, spelt: bool) -> None:
    """Print the normalised transcripts of a prepared run, a sentence a line.

    They are text for `sonorant lm`, for a language model's recipe (reader: text), and to report perplexity of. With
    --units lines are left out that the units do not spell; their number is printed at the end.

    Exit codes: 65 the run has no such split, or it is damaged.
    """
    from sonorant.corpus.shards import ShardSet
    from sonorant.errors import RejectedExample
    from sonorant.text.pieces import WORD_START
    from sonorant.text.units import Units

    run = find_run(run_path)
    shards = ShardSet.open(run.shards, split)
    units = Units.from_json((run.shards / "units.json").read_text(encoding="utf-8"))
    unspelt = 0
    for record in shards:
        if not spelt:
            sys.stdout.write(f"{record.text}\n")  # click.echo would flush each line
            continue
        try:
            labels = units.labels(record.text)
        except RejectedExample:
            unspelt += 1
            continue
        sys.stdout.write(" ".join(units.symbols[unit].replace(" ", WORD_START) for unit in labels) + "\n")
    if unspelt:
        click.echo(f"{unspelt} of {shards.total} lines left out: the {units} do not spell them", err=True)
