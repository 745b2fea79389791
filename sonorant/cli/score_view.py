"""What `sonorant score` prints: figures and alignments, in colour on a terminal, or JSON."""

import json
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from sonorant.text.alignment import Alignment, Kind, Unit
from sonorant.text.scoring import ErrorRate, confusions
from sonorant.text.side_by_side import blocks, render
from sonorant.text.transcript_formats import Format
from sonorant.text.visible import visible
from sonorant.text.word_times import WordTimes

__all__ = ["Scored", "show_json", "show_text"]

_COLOURS: dict[Kind, str] = {"hit": "", "substitution": "yellow", "insertion": "cyan", "deletion": "red"}


@dataclass(frozen=True)
class Scored:
    """Everything that was measured.

    aligned: by utterance; bleu: of words and of characters, or None; formats: of reference and hypothesis; times: of
    words, or None.
    """

    metric: str
    unit: Unit
    rate: ErrorRate
    aligned: dict[str, Alignment]
    bleu: dict[str, float] | None
    formats: tuple[Format, Format]
    times: WordTimes | None = None

    def summary(self) -> list[str]:
        """Return the figures as lines of text."""
        rate, (low, high) = self.rate, self.rate.interval_95
        drawn = f", {len(set(rate.speakers))} speakers resampled" if rate.resampled == "speaker" else ""
        figure = f"{rate.rate:.2%} (95 % interval {low:.2%} to {high:.2%}{drawn})"
        lines = [
            f"{self.metric}: {figure if rate.reference_words else f'none, as no {self.unit} is in the references'}",
            f"{rate.errors} errors in {rate.reference_words} {self.unit}s of {len(self.aligned)} utterances: "
            f"S {rate.substitutions}, I {rate.insertions}, D {rate.deletions}",
            f"SER: {rate.sentence_rate:.2%} ({rate.sentence_errors} of {len(self.aligned)} utterances with an error)",
        ]
        if self.bleu is not None:
            words, characters = self.bleu["words"], self.bleu["characters"]
            lines.append(
                f"BLEU: {words:.4f} of words, {characters:.4f} of characters (mean of utterances, smoothing 7)"
            )
        if self.times is not None:
            words, timed, found = self.times.words, self.times.reference_words, self.times.hypothesis_words
            lines.append(
                f"word times: of {words} recognized words ({timed} of the reference have times, {found} heard)"
            )
            lines += [f"word {edge}s: {getattr(self.times, edge)}" for edge in ("start", "end")]
        said, heard = self.formats
        lines.append(f"format: {said}" + (f" of the reference, {heard} of the hypothesis" if said != heard else ""))
        return lines

    def common_errors(self, top: int) -> list[tuple[str, str, int]]:
        """Return (said, heard, count) of the `top` commonest errors."""
        counts = confusions(self.aligned.values())
        errors = sorted((-count, said, heard) for (said, heard), count in counts.items() if said != heard)
        return [(said, heard, -count) for count, said, heard in errors[:top]]


def show_text(scored: Scored, alignments: bool, top: int) -> None:
    """Print the figures; before them the alignments, if asked for, and the `top` commonest errors."""
    console = Console()
    for name, alignment in scored.aligned.items() if alignments else ():
        if console.is_terminal:
            console.print(_coloured(name, alignment, console.width))
        else:
            click.echo(f"{visible(name)} ({alignment.errors} errors)\n{render(alignment)}")
    for said, heard, count in scored.common_errors(top):
        click.echo(f"{count:6} × {visible(said) or '(nothing)'} recognized as {visible(heard) or '(nothing)'}")
    click.echo("\n".join(scored.summary()))


def show_json(scored: Scored, alignments: bool, top: int) -> None:
    """Print the same as JSON, rates as fractions; null for that of references without a word."""
    rate = scored.rate
    document: dict[str, Any] = {
        "metric": scored.metric,
        "unit": scored.unit,
        "rate": rate.rate if rate.reference_words else None,
        "interval_95": rate.interval_95 if rate.reference_words else None,
        "interval_resamples": f"{rate.resampled}s",
        "substitutions": rate.substitutions,
        "insertions": rate.insertions,
        "deletions": rate.deletions,
        "reference_length": rate.reference_words,
        "utterances": len(scored.aligned),
        "sentence_errors": rate.sentence_errors,
        "sentence_rate": rate.sentence_rate,
        "formats": dict(zip(("reference", "hypothesis"), scored.formats, strict=True)),
    }
    if scored.bleu is not None:
        document["bleu"] = scored.bleu
    if scored.times is not None:
        document["word_times"] = scored.times.figures()
    if common := scored.common_errors(top):
        document["confusions"] = [{"said": said, "heard": heard, "count": count} for said, heard, count in common]
    if alignments:
        document["alignments"] = {name: [step._asdict() for step in a.steps] for name, a in scored.aligned.items()}
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def _coloured(name: str, alignment: Alignment, width: int) -> Text:
    """Return the alignment in blocks as wide as the terminal; errors stand out by colour and by letter."""
    text = Text(f"{visible(name)} ({alignment.errors} errors)\n", style="bold", end="")
    shown = Text(end="\n", no_wrap=True, overflow="ignore")
    shown.append_text(text)
    for block in blocks(alignment, width):
        for row, label in enumerate(("REF:", "HYP:", "    ")):
            shown.append(label, style="dim")
            for column in block:
                shown.append(" ").append(column.cells[row], style=_COLOURS[column.kind])
            shown.append("\n")
    shown.rstrip()
    return shown
