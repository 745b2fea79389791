"""Training by minimum word error rate (mWER) compares whole hypotheses of a trained model."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_word_errors"]


def check_word_errors(recipe: "Sections") -> None:
    """Refuse mWER of one hypothesis, of another objective, or of a model that still grows."""
    if recipe.training.mwer_hypotheses == 1 or (recipe.training.mwer_hypotheses and recipe.training.objective != "ctc"):
        raise ValueError(
            f"training.mwer_hypotheses={recipe.training.mwer_hypotheses} with training.objective="
            f"{recipe.training.objective}: expected 0, or at least 2 hypotheses to choose from, and the objective "
            "ctc, whose model has transcripts of its own"
        )
    if recipe.training.mwer_hypotheses and recipe.training.pretrain_layers:
        raise ValueError(
            f"training.mwer_hypotheses={recipe.training.mwer_hypotheses} with training.pretrain_layers="
            f"{list(recipe.training.pretrain_layers)}: mWER starts from a trained encoder with all its layers; "
            "remove one of the two"
        )
