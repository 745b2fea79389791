"""Whether training is complete: one rule for the loop, and for readers of a run's totals.

`finished.json` holds the totals. By a recipe with more epochs, more minutes or more patience the same totals are those
of a training that is not complete.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sonorant.recipe import Recipe
from sonorant.recipe.training import TrainingRecipe
from sonorant.run_folder import RunFolder

__all__ = ["Reason", "complete_totals", "reason_to_end"]


class Reason(StrEnum):
    """Why training stopped."""

    EPOCHS = "epochs"
    TIME = "max_minutes"
    PATIENCE = "patience"
    TERMINATED = "terminated"


def reason_to_end(recipe: TrainingRecipe, epoch: int, looks_without_better: int, train_s: float) -> Reason | None:
    """Return why training ends after `epoch` epochs and `train_s` seconds; None: it continues.

    looks_without_better: evaluations on dev, with all layers, without a lower WER or perplexity.
    """
    if epoch >= recipe.epochs:
        return Reason.EPOCHS
    if looks_without_better >= recipe.patience:
        return Reason.PATIENCE
    return Reason.TIME if 0 < recipe.max_minutes * 60 <= train_s else None


def complete_totals(run: RunFolder, recipe: Recipe) -> Mapping[str, Any] | None:
    """Return the totals of `run` if its training is complete by `recipe`, else None."""
    try:
        totals = json.loads(run.totals.read_text())
        looks, layers = totals.get("looks_without_better", 0), totals.get("layers")
        if layers is not None and layers != recipe.model.encoder_layers:
            looks = 0  # patience waits for all layers
        ended = reason_to_end(recipe.training, totals["epochs"], looks, totals["train_seconds"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return totals if ended else None
