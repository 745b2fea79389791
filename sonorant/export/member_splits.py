"""Whether an ensemble's members kept the same utterances of a corpus apart for tests."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sonorant.recipe import Recipe
from sonorant.recipe.corpus import CorpusRecipe
from sonorant.recipe.corpus_seed import corpus_seed
from sonorant.recipe.loading import load_recipe

__all__ = ["other_splits"]


def other_splits(recipe: Recipe, others: Sequence[Path]) -> Iterator[str]:
    """Yield a warning for each exported model of the recipe's corpus that was trained on other splits of it.

    Its training may have utterances, or speakers, of the run's test sets. Exports of other corpora are of no concern.
    """
    if recipe.of_text:
        return
    here = _dealt(recipe)
    for other in others:
        member = load_recipe(other / "recipe.yaml")
        there = _dealt(member)
        if there != here and _source(member.corpus) == _source(recipe.corpus):
            unlike = [key for key in there | here if there.get(key) != here.get(key)]
            shown = "; ".join(f"{key} {_shown(there, key)}, here {_shown(here, key)}" for key in unlike)
            yield (
                f"{other}: was trained on other splits of {recipe.corpus.path} ({shown}), so perhaps on some of this "
                "run's test sets, which then do not measure the ensemble; train its members with the same corpus.seed "
                "and corpus.splits"
            )


def _source(corpus: CorpusRecipe) -> tuple[str, Path]:
    return corpus.reader, Path(corpus.path)


def _dealt(recipe: Recipe) -> dict[str, Any]:
    """Return what the test sets follow from, by key."""
    corpus = recipe.corpus
    dealt = {"by": corpus.split_by, "unseen_speakers": sorted(corpus.splits.unseen_speakers)}
    if corpus.split_by in ("speaker", "utterance"):
        fractions = corpus.splits.model_dump(include={"dev_fraction", "test_fraction"})
        return dealt | {"seed": corpus_seed(recipe)} | fractions
    if corpus.split_by == "take" and corpus.strings is not None:
        return dealt | corpus.strings.model_dump(include={"test_takes", "dev_takes"})
    return dealt


def _shown(dealt: dict[str, Any], key: str) -> str:
    return str(dealt.get(key, "not used"))
