"""The seed of what is drawn of a corpus."""

from sonorant.recipe.schema import Recipe

__all__ = ["corpus_seed"]


def corpus_seed(recipe: Recipe) -> int:
    """Return the seed of splits, strings, backgrounds, order and sub-words: `corpus.seed`, or else that of the run."""
    return recipe.seed if recipe.corpus.seed is None else recipe.corpus.seed
