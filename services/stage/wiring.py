"""Which program runs a stage, and who is linked to whom."""

import hashlib

from sonorant.augment.chain import FEATURIZER, stage_names
from sonorant.recipe.schema import Recipe

__all__ = ["SERVICES", "TRAINER", "program", "stage_before", "stage_order", "stream_names"]

TRAINER = "trainer"

SERVICES = {
    "shard_reader": "shard_reader",
    "vtlp": "vtlp_augmenter",
    "room": "room_simulator",
    FEATURIZER: "featurizer",
    "example_server": "example_server",
}
"""Services of the stages that have one of their own; the augmenter runs all others."""


def program(stage: str) -> tuple[str, ...]:
    """Return the module that runs a stage, and the arguments that name the stage to it if it runs several."""
    if stage in SERVICES:
        return (f"services.{SERVICES[stage]}",)
    return ("services.augmenter", stage)


def stage_order(recipe: Recipe) -> tuple[str, ...]:
    """Return the stages that have processes, in the order in which an example passes them, without the trainer."""
    if recipe.pipeline.layout == "fused":
        return ("example_server",)
    return ("shard_reader", *stage_names(recipe))


def stage_before(recipe: Recipe, stage: str) -> str:
    """Return the stage that `stage` pulls its examples from, in the recipe's layout."""
    chain = (*stage_order(recipe), TRAINER)
    return chain[chain.index(stage) - 1]


def stream_names(recipe: Recipe, stage: str) -> tuple[str, ...]:
    """Return how links name what leaves a stage: the stage, and a checksum of all that decides what an example is.

    An address may come to belong to another stage, or to one of another recipe; whose examples must never be mixed.
    It is one stream, but one for each rank where strict order gives each rank its own examples; see `lane_of`.
    """
    deciding = recipe.model_dump_json(
        include={"seed": True, "corpus": True, "stages": True, "features": True, "pipeline": {"payload"}}
    )
    name = f"{stage} of {hashlib.sha256(deciding.encode()).hexdigest()[:12]}"
    ranks = recipe.training.ranks
    if recipe.pipeline.order == "fast" or ranks == 1 or stage != stage_before(recipe, TRAINER):
        return (name,)
    return tuple(f"{name}, rank {rank} of {ranks}" for rank in range(ranks))
