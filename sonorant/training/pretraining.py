"""Layer-wise pretraining: an encoder begins with few layers; the top one stays, and new ones come below it.

Zeyer 2018 (arXiv 1805.03294) trains deep encoders so, and Kim 2019 builds on that system. The model has all its weights
from the start; those of a layer that is not there yet get no gradient.
"""

from sonorant.recipe.schema import Recipe

__all__ = ["encoder_layers", "has_all_layers"]


def encoder_layers(recipe: Recipe, epoch: int) -> int | None:
    """Return the layers of the encoder in an epoch; None without pretraining, when there are always all."""
    stages = recipe.training.pretrain_layers
    if not stages:
        return None
    stage = epoch // recipe.training.pretrain_epochs
    return stages[stage] if stage < len(stages) else recipe.model.encoder_layers


def has_all_layers(recipe: Recipe, epoch: int) -> bool:
    """Return whether no layer of the encoder is still to come in an epoch."""
    layers = encoder_layers(recipe, epoch)
    return layers is None or layers == recipe.model.encoder_layers
