"""Objective, schedule and ranks of a training must suit each other and the model."""

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_growth", "check_training"]


def check_training(recipe: "Sections") -> None:
    """Refuse objectives without what they need, dropout that cannot change, and batches that ranks cannot share."""
    if (recipe.training.objective == "frame_cross_entropy") != bool(recipe.training.aligner):
        raise ValueError(
            f"training.objective={recipe.training.objective} with training.aligner={recipe.training.aligner!r}: "
            "frame_cross_entropy needs the folder of an exported CTC model, and ctc none"
        )
    if recipe.training.alignment_weight and recipe.training.objective != "ctc":
        raise ValueError(
            f"training.alignment_weight={recipe.training.alignment_weight} with training.objective="
            f"{recipe.training.objective}: guides CTC alone; set it to 0"
        )
    if recipe.training.anneal_dropout and not recipe.model.anneals_dropout:
        raise ValueError(
            f"training.anneal_dropout={list(recipe.training.anneal_dropout)}: the dropout of model.family="
            f"{recipe.model.family} is fixed; remove it, or take a family whose dropout can change, such as "
            "conv_lstm_ctc"
        )
    if recipe.pipeline.order == "strict" and recipe.training.ranks > 1 and recipe.training.batch_vectors:
        raise ValueError(
            f"training.batch_vectors={recipe.training.batch_vectors} with pipeline.order: strict and training.ranks: "
            f"{recipe.training.ranks}: must be 0, because each rank trains on its own part of the order, and with "
            "batches of unlike numbers of examples one would run out of them early"
        )


def check_growth(recipe: "Sections") -> None:
    """Refuse layer-wise pretraining that the model cannot grow by."""
    stages, fewest = recipe.training.pretrain_layers, recipe.model.fewest_layers
    if not stages:
        return
    if fewest is None:
        raise ValueError(
            f"training.pretrain_layers={list(stages)}: this model of model.family={recipe.model.family} cannot grow; "
            "remove it, or take one that can, such as bfa, or mocha without look_ahead"
        )
    numbers = [*stages, recipe.model.encoder_layers]
    if numbers[0] < fewest or any(after <= before for before, after in pairwise(numbers)):
        raise ValueError(
            f"training.pretrain_layers={list(stages)} with model.layers={recipe.model.encoder_layers}: must rise "
            f"from at least {fewest}, which this model needs, and stay below model.layers"
        )
