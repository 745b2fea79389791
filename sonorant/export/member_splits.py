"""Whether an ensemble's members kept the same utterances of a corpus apart for tests."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sonorant.recipe import Recipe
from sonorant.recipe.corpus_seed import corpus_seed
from sonorant.recipe.loading import load_recipe

__all__ = ["other_splits"]


def other_splits(recipe: Recipe, others: Sequence[Path]) -> Iterator[str]:
    """Yield a warning for each exported model of the recipe's corpus that was trained on other random splits of it.

    Its training has utterances, or speakers, of the run's test sets. Exports of other corpora are of no concern.
    """
    if recipe.of_text or recipe.corpus.split_by not in ("speaker", "utterance"):
        return
    for other in others:
        member = load_recipe(other / "recipe.yaml")
        is_of_it = (member.corpus.reader, member.corpus.path) == (recipe.corpus.reader, recipe.corpus.path)
        if is_of_it and _dealt(member) != _dealt(recipe):
            yield (
                f"{other}: was trained on other splits of {recipe.corpus.path} (seed {corpus_seed(member)}, here "
                f"{corpus_seed(recipe)}), so on some {recipe.corpus.split_by}s of this run's test sets, which do not "
                "measure the ensemble; train its members with the same corpus.seed and corpus.splits"
            )


def _dealt(recipe: Recipe) -> tuple[int, dict[str, Any]]:
    """Return what the test sets follow from."""
    return corpus_seed(recipe), recipe.corpus.splits.model_dump(exclude={"train_fraction"})
