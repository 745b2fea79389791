"""`sonorant score`: scores hypotheses against references."""

import json
from pathlib import Path
from typing import Any, get_args

import click

from sonorant.text.alignment import Alignment, Unit, align, render
from sonorant.text.normalisation import normalise
from sonorant.text.scoring import ErrorRate, confusions, error_rate
from sonorant.text.section import TextRecipe
from sonorant.text.transcripts import Format, pair_up, read_transcripts

__all__ = ["command"]

_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("score")
@click.argument("reference", type=_file)
@click.argument("hypothesis", type=_file)
@click.option("--format", type=click.Choice(get_args(Format)), help="Format of both files; default: detected.")
@click.option("--characters", is_flag=True, help="Score characters (CER) instead of words.")
@click.option("--normalise", "normalised", is_flag=True, help="Lower-case both and strip punctuation before comparing.")
@click.option("--alignments", is_flag=True, help="Show each utterance's alignment.")
@click.option(
    "--confusions", "top", type=click.IntRange(0), default=0, metavar="N", help="Show the N commonest errors."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, rates as fractions.")
def command(
    reference: Path,
    hypothesis: Path,
    format: Format | None,
    characters: bool,
    normalised: bool,
    alignments: bool,
    top: int,
    as_json: bool,
) -> None:
    """Print the word error rate of HYPOTHESIS against REFERENCE, with its 95 % bootstrap interval.

    Both files hold JSON lines with id and text, or Kaldi's `id text`, or plain parallel lines.
    """
    unit: Unit = "character" if characters else "word"
    pairs = pair_up(read_transcripts(reference, format), read_transcripts(hypothesis, format))
    if normalised:
        pairs = {name: (normalise(r, TextRecipe()), normalise(h, TextRecipe())) for name, (r, h) in pairs.items()}
    aligned = {name: align(said, heard, unit) for name, (said, heard) in pairs.items()}
    rate = error_rate(list(aligned.values()))
    shown = aligned if alignments else {}
    common = _common_errors(aligned, top)
    if as_json:
        click.echo(json.dumps(_document(rate, unit, shown, common), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(rate, unit, shown, common)))


def _common_errors(aligned: dict[str, Alignment], top: int) -> list[tuple[str, str, int]]:
    counts = confusions(aligned.values())
    errors = sorted((-count, said, heard) for (said, heard), count in counts.items() if said != heard)
    return [(said, heard, -count) for count, said, heard in errors[:top]]


def _lines(rate: ErrorRate, unit: Unit, shown: dict[str, Alignment], common: list[tuple[str, str, int]]) -> list[str]:
    low, high = rate.interval_95
    lines = [f"{name} ({alignment.errors} errors)\n{render(alignment)}" for name, alignment in shown.items()]
    lines += [
        f"{count:6} × {said or '(nothing)'} recognized as {heard or '(nothing)'}" for said, heard, count in common
    ]
    return [
        *lines,
        f"{'CER' if unit == 'character' else 'WER'}: {rate.rate:.2%} (95 % interval {low:.2%} to {high:.2%})",
        f"{rate.errors} errors in {rate.reference_words} {unit}s of {len(rate.per_utterance)} utterances: "
        f"S {rate.substitutions}, I {rate.insertions}, D {rate.deletions}",
    ]


def _document(
    rate: ErrorRate, unit: Unit, shown: dict[str, Alignment], common: list[tuple[str, str, int]]
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "unit": unit,
        "rate": rate.rate,
        "interval_95": rate.interval_95,
        "substitutions": rate.substitutions,
        "insertions": rate.insertions,
        "deletions": rate.deletions,
        "reference_length": rate.reference_words,
        "utterances": len(rate.per_utterance),
    }
    if common:
        document["confusions"] = [{"said": said, "heard": heard, "count": count} for said, heard, count in common]
    if shown:
        document["alignments"] = {name: [step._asdict() for step in a.steps] for name, a in shown.items()}
    return document
