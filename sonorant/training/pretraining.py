"""Layer-wise pretraining: an encoder begins with few layers; the top one stays, and new ones come below it.

Zeyer 2018 (arXiv 1805.03294) trains deep encoders so, and Kim 2019 builds on that system. The model has all its weights
from the start; those of a layer that is not there yet get no gradient.
"""

from sonorant.recipe.schema import Recipe
from sonorant.training.checkpoint_files import BadCheckpoint, Progress
from sonorant.training.parts import TrainerParts

__all__ = ["encoder_layers", "grow", "has_all_layers"]


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


def grow(parts: TrainerParts, progress: Progress, traced: int | None) -> int | None:
    """Have the encoder's layers of the epoch; return how many are traced now, None: all.

    What fewer layers came to on dev is no measure of the best. traced: what the last call returned. Raises
    BadCheckpoint if batches wait for a step of another number.
    """
    layers = encoder_layers(parts.recipe, progress.epoch)
    if layers is None and progress.layers is not None:  # stages of before a resumption, which are left out now
        layers = parts.recipe.model.encoder_layers
    if layers in (None, traced) or progress.epoch >= parts.recipe.training.epochs:
        return traced
    assert layers is not None
    parts.step.set_layers(layers)
    parts.evaluator.retrace()
    if progress.begun and (before := progress.layers or parts.recipe.model.encoder_layers) != layers:
        if parts.step.accumulation.batches:
            raise BadCheckpoint(
                f"training.pretrain_layers: batches wait for a step of {before} layers, found {layers}: go on as "
                "before to the end of an epoch, or train into another run folder"
            )
        progress.forget_best()
        parts.step.restart_average()
    progress.layers = layers
    return layers
