"""Alignments by an exported CTC model: the symbol of each frame of the very features that another model trains on.

As they are made of augmented features, they follow a change of speed, and need no corpus that knows times.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sonorant.arrays import Features, IntArray
from sonorant.errors import BadRecipe
from sonorant.export.loading import ExportedModel, load_member
from sonorant.objectives.forced_alignment import force_align
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units

__all__ = ["Aligner", "open_aligner"]


class Aligner:
    """Aligns labels with features by a model whose symbols are units and blank."""

    def __init__(self, model: ExportedModel) -> None:
        self._model = model

    def __call__(self, features: Features, labels: Sequence[int]) -> IntArray:
        """Return Int64[frames], one of the model's symbols for each of its frames of Float32[vectors, bins]."""
        log_probs, state = self._model.step(features, self._model.initial_state())
        frames = np.concatenate([log_probs, self._model.finish(state)])
        return force_align(frames, labels, self._model.units.blank)


def open_aligner(recipe: Recipe, units: Units) -> Aligner:
    """Return the aligner that `training.aligner` names; raises BadExport, or BadRecipe if it is of another kind."""
    model = load_member(Path(recipe.training.aligner))
    other = model.recipe
    for key, found, expected in (
        ("search", model.search, "ctc"),
        ("units", model.units.symbols, units.symbols),
        ("corpus.sample_rate_hz", model.sample_rate_hz, recipe.corpus.sample_rate_hz),
        ("features", other.features, recipe.features),
        ("vectors from frame to frame", other.model.framing.block, recipe.model.framing.block),
    ):
        if found != expected:
            raise BadRecipe(
                f"training.aligner={recipe.training.aligner}: its {key}: {found}; expected those of the model that is "
                f"trained, {expected}; align with a CTC model that was trained with them"
            )
    return Aligner(model)
