"""One training step on a batch that stays the same: random features in the shapes of spoken digits."""

from collections.abc import Sequence

import numpy as np

from benchmarks.rigs.training_case import Case
from sonorant.arrays import Features, IntArray
from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.errors import RejectedExample
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.computation import set_computation
from sonorant.models.framing import Framing
from sonorant.models.registry import build_model
from sonorant.objectives.frame_cross_entropy import FrameCrossEntropy
from sonorant.objectives.objective import Objective
from sonorant.objectives.registry import build_objective
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units
from sonorant.training.batch import Batch
from sonorant.training.collective import SingleProcess
from sonorant.training.pool import Labelled
from sonorant.training.step import Notes
from sonorant.training.unrolling import batch_layout, build_step

__all__ = ["FixedStep"]

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WORD_S = 0.45  # of a string of digits, its pauses counted


class FixedStep:
    """The step of a rank, as `sonorant train` makes it, the optimizer's update included.

    seconds: of audio in each utterance of the batch.
    """

    def __init__(self, case: Case, seconds: Sequence[float]) -> None:
        self.recipe = case.load()
        self.extractor = FeatureExtractor(self.recipe.features, self.recipe.corpus.sample_rate_hz)
        self.units = _units(self.recipe)
        self.objective = _objective(case, self.recipe, self.units)
        self.batch = self.make_batch(seconds)
        model = build_model(self.recipe.model, self.extractor.bins, self.units.size, seed=1)
        model.set_normalisation([self._item(0, seconds[0]).features], lambda moments: moments)
        set_computation(model, self.recipe.training.precision)
        self.step = build_step(model, self.objective, self.recipe, SingleProcess())
        self._number = 0

    @property
    def frames(self) -> int:
        """Encoded frames of the longest utterance."""
        framing: Framing = self.recipe.model.framing
        return framing.frames(int(self.batch.tensors.features.shape[1]))

    def make_batch(self, seconds: Sequence[float]) -> Batch:
        """Return utterances of such lengths, padded."""
        items = [self._item(number, length_s) for number, length_s in enumerate(seconds)]
        return batch_layout(self.objective, self.recipe)(0, 0, items)

    def __call__(self, batch: Batch | None = None) -> float:
        """Make the steps of the batch, or of another if one is given: one, unless it is of chunks; return its loss."""
        batch = batch or self.batch
        result = self.step(batch.tensors, self._number, Notes(audio_s=batch.audio_s))
        self._number += result.updates
        return result.loss

    def _item(self, number: int, length_s: float) -> Labelled:
        rng = np.random.default_rng(number)
        vectors = self.extractor.vectors(round(length_s * self.recipe.corpus.sample_rate_hz))
        features = rng.standard_normal((vectors, self.extractor.bins), np.float32)
        words = rng.choice(_WORDS, max(1, round(length_s / _WORD_S)))
        spans = tuple(WordSpan(str(w), i * _WORD_S, (i + 0.9) * _WORD_S) for i, w in enumerate(words))
        example = Example(
            lineage=Lineage(0, 0, number),
            utterance=str(number),
            text=" ".join(words),
            sample_rate_hz=self.recipe.corpus.sample_rate_hz,
            duration_s=length_s,
            words=spans,
            features=features,
        )
        targets = self.objective.targets(example, vectors)
        return Labelled(example.lineage, number, example.utterance, features, targets, length_s)


def _units(recipe: Recipe) -> Units:
    if recipe.text.units == "words":
        return Units("words", _WORDS)
    if recipe.text.units in ("bpe", "unigram"):
        return Units("words", (*_WORDS, *(f"piece {number}" for number in range(len(_WORDS), recipe.text.pieces))))
    return Units("characters", (" ", *sorted(set("".join(_WORDS)))))


def _objective(case: Case, recipe: Recipe, units: Units) -> Objective:
    if not case.frames:
        return build_objective(recipe, units)
    framing = recipe.model.framing

    def align(features: Sequence[Features], labels: Sequence[Sequence[int]]) -> list[IntArray | RejectedExample]:
        pairs = zip(features, labels, strict=True)
        return [np.resize(np.asarray(own), framing.frames(len(vectors))) for vectors, own in pairs]

    return FrameCrossEntropy(units, framing, align)
