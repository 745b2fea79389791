"""Alignments by an exported CTC model: the symbol of each frame of the very features that another model trains on.

As they are made of augmented features, they follow a change of speed, and need no corpus that knows times.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features, IntArray
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.export.loading import ExportedModel, load_member
from sonorant.objectives.forced_alignment import force_align
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["Aligner", "open_aligner"]

_VECTORS = 1000  # of an utterance that is longer than any window


class Aligner:
    """Aligns labels with features by a model whose symbols are units and blank; see `frame_cross_entropy.Align`.

    An utterance has the same bits among others. Where a streaming model is computed by its graph, in calls with a fixed
    number of rows (`sonorant.export.fixed_batch`), one costs as much as 16.
    """

    def __init__(self, model: ExportedModel) -> None:
        self._model = model

    def __call__(
        self, features: Sequence[Features], labels: Sequence[Sequence[int]]
    ) -> list[IntArray | RejectedExample]:
        """Return Int64[frames] of each utterance, or why there is none."""
        frames = self._model.outputs(features)
        return [self._path(*one) for one in zip(frames, labels, strict=True)]

    def _path(self, log_probs: NDArray[np.floating[Any]], labels: Sequence[int]) -> IntArray | RejectedExample:
        try:
            return force_align(log_probs, labels, self._model.units.blank)
        except ValueError as error:  # too few frames, or the model makes every path impossible
            return RejectedExample(f"it cannot be aligned: {error}")


def open_aligner(recipe: Recipe, units: Units) -> Aligner:
    """Return the aligner that `training.aligner` names; raises BadExport, or BadRecipe if it is of another kind."""
    tf.config.list_logical_devices()  # starts threads for training; a session would leave it one (`saved_session`)
    model = load_member(Path(recipe.training.aligner))
    other = model.recipe
    for key, found, expected in (
        ("search", model.search, "ctc"),
        ("units", model.units.symbols, units.symbols),
        ("corpus.sample_rate_hz", model.sample_rate_hz, recipe.corpus.sample_rate_hz),
        ("features", other.features, recipe.features),
        ("vectors from frame to frame", other.model.framing.block, recipe.model.framing.block),
        (f"frames of {_VECTORS} vectors and more", _frames(other), _frames(recipe)),
    ):
        if found != expected:
            raise BadRecipe(
                f"training.aligner={recipe.training.aligner}: its {key}: {found}; expected those of the model that is "
                f"trained, {expected}; align with a CTC model that was trained with them"
            )
    return Aligner(model)


def _frames(recipe: Recipe) -> list[int]:
    """Return the frames of utterances of each length that a block tells apart."""
    framing = recipe.model.framing
    return [framing.frames(_VECTORS + more) for more in range(framing.block)]
