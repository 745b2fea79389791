"""Which program runs a stage, and who is linked to whom."""

from sonorant.dsp.stages import FEATURIZER, stage_names
from sonorant.recipe.schema import Recipe

__all__ = ["TRAINER", "program", "stage_before", "stage_order"]

TRAINER = "trainer"

_SERVICES = {
    "shard_reader": "shard_reader",
    "vtlp": "vtlp_augmenter",
    "room": "room_simulator",
    FEATURIZER: "featurizer",
    "example_server": "example_server",
}


def program(stage: str) -> tuple[str, ...]:
    """Return the module that runs a stage, and the arguments that name the stage to it if it runs several."""
    if stage in _SERVICES:
        return (f"services.{_SERVICES[stage]}",)
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
