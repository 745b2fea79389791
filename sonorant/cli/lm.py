"""`sonorant lm`: n-gram language models from text, and perplexity."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sonorant.cli.output_path import check_output
from sonorant.errors import BadLanguageModel
from sonorant.file_names import shown

__all__ = ["command"]

_MOST = 2**32 - 1  # words of a text
_MARKS = {"<s>", "</s>"}


@click.command("lm")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…", type=click.Path(dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="ARPA to write; .gz: gzipped.")
@click.option("-n", "--order", type=click.IntRange(1, 6), help="Longest n-grams.  [default: 3]")
@click.option(
    "--prune", metavar="'0 0 1'", help="Leave out n-grams of order 1, 2, … that occur no more often. [default: 0]"
)
@click.option(
    "--words", type=click.IntRange(1, _MOST), metavar="N", help="Keep the N commonest words; others are <unk>."
)
@click.option("--dev", type=click.Path(dir_okay=False, path_type=Path), help="Text to report the perplexity of.")
@click.option(
    "--perplexity", "model", type=click.Path(dir_okay=False, path_type=Path), metavar="MODEL",
    help="Train nothing: print the perplexity of each TEXT under MODEL, ARPA or kenlm's binary.",
)  # fmt: skip
def command(
    texts: tuple[Path, ...],
    output: Path | None,
    order: int | None,
    prune: str | None,
    words: int | None,
    dev: Path | None,
    model: Path | None,
) -> None:
    """Train an n-gram language model on TEXT, a sentence a line, words apart by white space, gzipped or not.

    Modified Kneser-Ney, interpolated (Chen and Goodman 1998), as kenlm's lmplz.

    Exit codes: 65 a text or model cannot be used; 69 the output cannot be written.
    """
    if (output is None) == (model is None):
        raise click.UsageError("give -o, the model to train, or --perplexity, a model to score with")
    check_output(output, (*texts, dev))
    if model is not None:
        if any(value is not None for value in (order, prune, words, dev)):
            raise click.UsageError("-n, --prune, --words and --dev are for training: leave them out with --perplexity")
        _score(model, texts)
    elif output is not None:
        if dev is not None:
            _check(dev)  # before the training
        _train(texts, output, 3 if order is None else order, _thresholds(prune), words)
        if dev is not None:
            _score(output, (dev,))


def _check(text: Path) -> None:
    """Raise BadCorpus for a text that cannot be read throughout, BadLanguageModel for one that cannot be scored."""
    if not sum(len(line.split()) for line in _sentences(text)):
        raise _without_words(text)


def _without_words(text: Path) -> BadLanguageModel:
    return BadLanguageModel(f"{shown(text)}: the text has no word; expected a sentence a line")


def _sentences(text: Path) -> Iterator[str]:
    """Yield the lines of a text, as training takes them."""
    from sonorant.corpus.readers.text_lines import whole_text

    for number, line in enumerate(whole_text(text), 1):
        if marks := _MARKS.intersection(line.split()):
            raise BadLanguageModel(
                f"{shown(text)}: line {number}: found {min(marks)}, which marks the bounds of each line; remove it"
            )
        yield line


def _thresholds(prune: str | None) -> list[int]:
    try:
        return [min(int(value), _MOST) for value in (prune or "0").replace(",", " ").split()]
    except ValueError as error:
        raise click.BadParameter(f"--prune {prune}: expected whole numbers, such as '0 0 1'") from error


def _train(texts: tuple[Path, ...], output: Path, order: int, prune: list[int], words: int | None) -> None:
    from sonorant.lm.training import train

    began = time.monotonic()
    with _progress() as progress:
        trained = train(texts, output, order=order, prune=prune, most_words=words, progress=progress)
    taken_s = time.monotonic() - began
    for n, (count, discounts) in enumerate(zip(trained.ngrams, trained.discounts, strict=True), 1):
        click.echo(f"{n}-grams: {count}, discounts {' '.join(f'{amount:.4f}' for amount in discounts)}")
    if trained.fallen_back:
        which = ", ".join(map(str, trained.fallen_back))
        click.echo(
            f"order {which}: too few counts of 1 to 4 to estimate discounts (small or artificial text), used 0.5 1 1.5",
            err=True,
        )
    tokens = trained.tokens - 2 * trained.sentences
    click.echo(
        f"{output}: {tokens} words of {trained.sentences} sentences, {trained.words} in the vocabulary, {taken_s:.1f} s"
    )
    if trained.made_unknown:
        click.echo(f"{trained.made_unknown} words ({trained.made_unknown / tokens:.2%}) became <unk>")


def _score(path: Path, texts: tuple[Path, ...]) -> None:
    from sonorant.lm.model import NgramModel

    with _progress() as progress:
        model = NgramModel.read(path, lambda fraction: progress(f"reading {path}: {fraction:.0%}"))
    for text in texts:
        found = model.perplexity(_sentences(text))
        if not found.sentences:
            raise _without_words(text)
        click.echo(f"{text}: {found}")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show what is done now; nothing when nobody watches."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _doing: None
        return
    with console.status("") as status:
        yield lambda doing: status.update(escape(doing))
