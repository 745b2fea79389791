"""`sonorant tokenizer`: units learnt from text, in a file that recipes name."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import click

from sonorant.atomic import atomic_write
from sonorant.cli.output_path import check_output
from sonorant.cli.settings import find_run, resolve_recipe, set_option
from sonorant.corpus.readers.text_lines import whole_text
from sonorant.corpus.shards import ShardSet
from sonorant.recipe.corpus_seed import corpus_seed
from sonorant.text.normalisation import first_number, normalise
from sonorant.text.section import SUBWORDS, TextRecipe
from sonorant.text.units import Units, count_words, fewer_pieces, units_of_words

__all__ = ["command"]


@click.command("tokenizer")
@click.argument("texts", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--recipe", "recipe_path", type=click.Path(path_type=Path), help="Recipe whose section `text` applies.")
@click.option("--run", "run_path", type=click.Path(path_type=Path), help="Prepared run: learn from its split train.")
@click.option(
    "-o", "--output", "--out", "out", required=True, type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.",
)  # fmt: skip
@set_option
def command(
    texts: tuple[Path, ...], recipe_path: Path | None, run_path: Path | None, out: Path, assignments: tuple[str, ...]
) -> None:
    """Learn units from TEXTS, a sentence a line, or from the split train of a run, and write them to a file.

    Kind, size and normalisation are those of the recipe's section `text` (without --recipe, the run's), for instance
    --set text.units=unigram --set text.pieces=1000. A recipe takes the file by `text.tokenizer`. The same text and
    recipe give the same bytes; of more than ten million words, a sample drawn from the recipe's seed is learnt from.

    Exit codes: 65 a text or run cannot be used; 69 the output cannot be written; 78 the recipe is wrong.
    """
    if (run_path is None) == (not texts):
        raise click.UsageError("give either TEXTS, files with a sentence a line, or --run, a run that is prepared")
    check_output(out, (*texts, recipe_path))
    if run_path is not None:
        run = find_run(run_path)
        recipe = resolve_recipe(recipe_path or run.recipe, assignments)
        sentences = _transcripts(ShardSet.open(run.shards, "train"))
    elif recipe_path is not None:
        recipe = resolve_recipe(recipe_path, assignments)
        sentences = chain.from_iterable(map(whole_text, texts))
    else:
        raise click.UsageError("TEXTS need --recipe, whose section `text` says what is learnt from them")
    if recipe.text.units not in SUBWORDS and any(one.strip().startswith("text.pieces") for one in assignments):
        raise click.UsageError(
            f"--set text.pieces with text.units={recipe.text.units}: only {' and '.join(SUBWORDS)} have pieces; add "
            f"--set text.units={SUBWORDS[0]}, or leave it out"
        )
    left_out: list[str] = []
    counts = count_words(recipe.text, _usable(recipe.text, sentences, left_out))
    units = units_of_words(recipe.text, counts, corpus_seed(recipe))
    report = _report(out, units, counts)
    atomic_write(out, units.to_json())
    click.echo(report)
    if warning := fewer_pieces(recipe.text, units):
        click.echo(warning, err=True)
    if left_out:
        click.echo(f"text.numbers=refuse: {len(left_out)} sentences have numbers, the first {left_out[0]!r}", err=True)


def _usable(recipe: TextRecipe, sentences: Iterable[str], left_out: list[str]) -> Iterator[str]:
    """Yield the sentences that `prepare` takes too, and list those with numbers that it refuses."""
    for sentence in sentences:
        if recipe.numbers == "refuse" and first_number(normalise(sentence, recipe)):
            left_out.append(sentence)
        else:
            yield sentence


def _transcripts(shards: ShardSet) -> Iterator[str]:
    for record in shards:
        yield record.text


def _report(out: Path, units: Units, counts: Counter[str]) -> str:
    words = counts.total()
    written = sum(count * len(units.labels(word)) for word, count in counts.items())
    return f"{out}: {units} from {words} words ({len(counts)} different), {written / words:.2f} of them to write a word"
