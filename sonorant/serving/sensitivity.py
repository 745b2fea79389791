"""Sensitivity of endpointing: a client's choice of how short a pause ends an utterance."""

from sonorant.decoding.section import EndpointingRecipe
from sonorant.serving.errors import BadRequest
from sonorant.serving.model import ServedModel

__all__ = ["SENSITIVITIES", "check_sensitivity", "with_sensitivity"]

SENSITIVITIES = {"STANDARD": 1.0, "SHORT": 0.5, "SUPERSHORT": 0.25}
"""The pause, as a share of the recipe's `silence_ms`; the names are Google's."""

_LEAST_MS = 100.0  # as in the recipe


def with_sensitivity(recipe: EndpointingRecipe | None, sensitivity: str) -> EndpointingRecipe | None:
    """Return the recipe of a stream; None, an undivided stream, has no pauses."""
    if recipe is None or sensitivity == "STANDARD":
        return recipe
    return recipe.model_copy(update={"silence_ms": max(_LEAST_MS, recipe.silence_ms * SENSITIVITIES[sensitivity])})


def check_sensitivity(sensitivity: str, model: ServedModel) -> None:
    """Raise BadRequest for one that is unknown, or that would be ignored."""
    if sensitivity not in SENSITIVITIES:
        raise BadRequest(f"endpointing_sensitivity={sensitivity}: expected one of {', '.join(SENSITIVITIES)}")
    if sensitivity != "STANDARD" and model.recipe.decoding.endpointing is None:
        raise BadRequest(
            f"endpointing_sensitivity={sensitivity}: model {model.name!r} has no endpointing; leave it out"
        )
