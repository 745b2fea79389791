"""Whether a run has the shards that a recipe needs."""

from collections.abc import Callable
from typing import Any

from sonorant.corpus.shards import ShardSet
from sonorant.errors import BadCorpus, BadRecipe
from sonorant.recipe.differences import first_differences
from sonorant.recipe.loading import load_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

__all__ = ["check_prepared", "check_splits"]


def check_prepared(recipe: Recipe, run: RunFolder, first: str = "prepare them with this recipe first") -> None:
    """Raise BadCorpus if there are no finished shards, BadRecipe if they are for another corpus than `recipe` names.

    first: advice for the message, which depends on the origin of the recipe.
    """
    if not (run.shards / "card.json").is_file() or not run.recipe.is_file():
        raise BadCorpus(f"{run.shards}: no finished shards; {first}")
    if found := first_differences(_of_the_corpus(load_recipe(run.recipe)), _of_the_corpus(recipe)):
        raise BadRecipe(f"{run.shards}: made with another recipe: {found}; {first}")


def _of_the_corpus(recipe: Recipe) -> dict[str, Any]:
    """Return what the shards depend on, as JSON values."""
    return recipe.model_dump(mode="json", include={"seed", "corpus", "text"}, exclude_defaults=True)


def check_splits(run: RunFolder, open_shards: Callable[[str], ShardSet]) -> None:
    """Raise BadCorpus if the finished shards of a run have nothing to train on, or no dev.

    open_shards: returns the shards of a split that has some.
    """
    for split, use in (("train", "to learn from"), ("dev", "to choose the best checkpoint by")):
        if not any(run.shards.glob(f"{split}-*.tfrecord*")) or not open_shards(split).total:
            raise BadCorpus(
                f"{run.shards}: no utterances in {split}; training needs some {use}; see card.md there, "
                "and corpus.splits"
            )
