"""Full or truncated unrolling, as a recipe says: the layout of its batches, and the step that takes them.

Full unrolling pads utterances of like length to a batch, and makes one step of it. Truncated unrolling cuts rows of
utterances into chunks, and makes a step of each (`training.unroll_vectors`); where the loss is one of whole utterances,
it finds soft alignments first.
"""

from collections.abc import Callable
from functools import partial

from sonorant.models.family import Model
from sonorant.objectives.objective import Objective
from sonorant.recipe.schema import Recipe
from sonorant.training.batch import Layout, collate
from sonorant.training.chunks import ChunkLayout
from sonorant.training.collective import Collective
from sonorant.training.soft_aligned_step import SoftAlignedStep
from sonorant.training.step import TrainStep
from sonorant.training.truncated_step import TruncatedStep

__all__ = ["batch_layout", "build_step"]


def build_step(
    model: Model,
    objective: Objective,
    recipe: Recipe,
    collective: Collective,
    on_chunk: Callable[[], None] = lambda: None,
) -> TrainStep:
    """Return the step of the recipe's unrolling; on_chunk: see `TruncatedStep`."""
    if recipe.training.unroll_vectors:
        by_frame = recipe.training.objective == "frame_cross_entropy"
        chosen = TruncatedStep if by_frame else SoftAlignedStep
        return chosen(model, objective, recipe, collective, on_chunk)
    return TrainStep(model, objective, recipe, collective)


def batch_layout(objective: Objective, recipe: Recipe) -> Layout:
    """Return the layout of the batches that `build_step`'s step takes."""
    training = recipe.training
    if not training.unroll_vectors:
        return partial(collate, padding=objective.padding)
    return ChunkLayout(training.unroll_rows, training.unroll_vectors, recipe.model.framing, objective.padding)
