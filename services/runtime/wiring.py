"""Who is linked to whom."""

from sonorant.dsp.stages import stage_names
from sonorant.recipe.schema import Recipe

__all__ = ["TRAINER", "stage_before"]

TRAINER = "trainer"


def stage_before(recipe: Recipe, stage: str) -> str:
    """Return the stage that `stage` pulls its examples from, in the recipe's layout."""
    if recipe.pipeline.layout == "fused":
        return "example_server"
    chain = ("shard_reader", *stage_names(recipe), TRAINER)
    return chain[chain.index(stage) - 1]
