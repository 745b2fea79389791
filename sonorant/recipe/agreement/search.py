"""Weights of a search must be of outputs that the model has."""

from typing import TYPE_CHECKING

from sonorant.decoding.section import DecodingRecipe

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_search"]


def check_search(recipe: "Sections") -> None:
    """Refuse weights of outputs by label for a model by frame, and of what monotonic attention has none."""
    family = recipe.model.family
    if recipe.model.monotonic and recipe.decoding.coverage_weight:
        raise ValueError(
            f"decoding.coverage_weight={recipe.decoding.coverage_weight}: model.family={family} is searched while "
            "frames arrive, and never attends twice; set it to 0"
        )
    if recipe.decoding.ctc_weight and not recipe.model.joint_ctc:
        raise ValueError(
            f"decoding.ctc_weight={recipe.decoding.ctc_weight}: model.family={family} with model.ctc="
            f"{str(recipe.model.joint_ctc).lower()} has no CTC beside a search by label; set it to 0, or take "
            "bfa or mocha with model.ctc: true"
        )
    if recipe.decoding.prior is not None and not recipe.model.label_synchronous:
        raise ValueError(
            f"decoding.prior: model.family={family} has outputs by frame, from which no prior of labels is "
            "subtracted; leave it out, or take a label-synchronous family, such as bfa"
        )
    usual = DecodingRecipe()
    for name in ("length_bonus", "coverage_weight", "end_threshold"):
        value, unset = getattr(recipe.decoding, name), getattr(usual, name)
        if value != unset and not recipe.model.label_synchronous:
            raise ValueError(
                f"decoding.{name}={value}: model.family={family} is searched frame by frame, without a score of "
                f"labels; set it to {unset:g}, or take a label-synchronous family, such as bfa"
            )
