"""The program that runs each stage."""

from sonorant.augment.chain import FEATURIZER

__all__ = ["SERVICES", "program"]

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
