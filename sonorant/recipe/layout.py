"""A recipe's stages as processes: their order, and the names of the lanes between them."""

import hashlib

from sonorant.augment.chain import stage_names
from sonorant.recipe.schema import Recipe

__all__ = ["TRAINER", "lane_names", "stage_before", "stage_order"]

TRAINER = "trainer"


def stage_order(recipe: Recipe) -> tuple[str, ...]:
    """Return the stages that have processes, in the order in which an example passes them, without the trainer."""
    if recipe.pipeline.layout == "fused":
        return ("example_server",)
    return ("shard_reader", *stage_names(recipe))


def stage_before(recipe: Recipe, stage: str) -> str:
    """Return the stage that `stage` pulls its examples from, in the recipe's layout."""
    chain = (*stage_order(recipe), TRAINER)
    return chain[chain.index(stage) - 1]


def lane_names(recipe: Recipe, stage: str) -> tuple[str, ...]:
    """Return the names of a stage's lanes: the stage, and a checksum of all fields that its examples depend on.

    A consumer requests a lane by its name, since an address may be reused by another stage, or by a stage of another
    recipe, whose examples must not be mixed with these. In strict order the stage before the trainer has a lane per
    rank (`lane_of`); all others have one lane.
    """
    deciding = recipe.model_dump_json(
        include={"seed": True, "corpus": True, "stages": True, "features": True, "pipeline": {"payload"}}
    )
    name = f"{stage} of {hashlib.sha256(deciding.encode()).hexdigest()[:12]}"
    ranks = recipe.training.ranks
    if recipe.pipeline.order == "fast" or ranks == 1 or stage != stage_before(recipe, TRAINER):
        return (name,)
    return tuple(f"{name}, rank {rank} of {ranks}" for rank in range(ranks))
