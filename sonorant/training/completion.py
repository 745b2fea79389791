"""Whether training is complete: one rule for the loop that ends, and for whoever finds what came of a run.

`finished.json` tells of the recipe that was trained by. A recipe that now asks for more epochs, more minutes or more
patience makes the same totals those of a training that goes on.
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
    """Return why training ends after `epoch` epochs, so many looks at dev without a better WER, and `train_s` seconds.

    None: it goes on.
    """
    if epoch >= recipe.epochs:
        return Reason.EPOCHS
    if looks_without_better >= recipe.patience:
        return Reason.PATIENCE
    return Reason.TIME if 0 < recipe.max_minutes * 60 <= train_s else None


def complete_totals(run: RunFolder, recipe: Recipe) -> Mapping[str, Any] | None:
    """Return what came of the training in `run` if it is complete by `recipe`, None if it is not or was never."""
    try:
        totals = json.loads(run.totals.read_text())
        ended = reason_to_end(
            recipe.training, totals["epochs"], totals.get("looks_without_better", 0), totals["train_seconds"]
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return totals if ended else None
