"""The figure of dev that training minimises; of speech, the word error rate with greedy decoding.

All ranks have a share of dev, and the same figure.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sonorant.arrays import Features
from sonorant.augment.chain import apply_stage
from sonorant.augment.stage import Stage
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.example import Lineage
from sonorant.errors import RejectedExample
from sonorant.models.family import Model
from sonorant.text.scoring import score
from sonorant.text.units import Units
from sonorant.training.alignment_view import Alignment, alignment_function, is_plottable
from sonorant.training.collective import Collective
from sonorant.training.greedy import greedy

__all__ = ["DevUtterance", "Evaluator", "WerEvaluator", "dev_utterances"]

_BATCH = 32


@dataclass(frozen=True)
class DevUtterance:
    """One utterance to be recognised. features: Float32[frames, bins]; text: what is spoken."""

    features: Features
    text: str


def dev_utterances(shards: ShardSet, featurizer: Stage, rank: int, size: int) -> Iterator[DevUtterance]:
    """Yield this rank's share of dev, without augmentation; without examples that the featurizer rejects."""
    for ordinal in range(rank, shards.total, size):
        shard, index = shards.locate(ordinal)
        example = shards.read(shard, index).example(Lineage(0, shard, index))
        try:
            features = apply_stage("featurizer", featurizer, example, seed=0).features
        except RejectedExample:
            continue
        if features is not None and len(features):
            yield DevUtterance(features, example.text)


class Evaluator(Protocol):
    """Measures a model on dev.

    figure: name of what is measured, the lower the better; left_out: utterances of this rank's share that have no such
    figure, once dev is loaded.
    """

    @property
    def figure(self) -> str:
        """See the class."""
        ...

    @property
    def left_out(self) -> int:
        """See the class."""
        ...

    def retrace(self) -> None:
        """Make the graphs of the model as it is now."""
        ...

    def load(self) -> None:
        """Read dev; once, before the first `measure`."""
        ...

    def measure(self, recognised: Callable[[int], None]) -> float:
        """Return the figure over all ranks' shares.

        recognised: called with the number of utterances of each batch, when it is done.
        """
        ...

    def alignment(self) -> Alignment | None:
        """Return how the model aligns an utterance of this rank's share, always the same one; None: it has none."""
        ...


class WerEvaluator:
    """Recognises dev with a model; utterances of similar length share a batch."""

    figure = "wer"
    left_out = 0

    def __init__(
        self,
        model: Model,
        units: Units,
        utterances: Iterable[DevUtterance],
        collective: Collective,
        end_threshold: float | None = None,
    ) -> None:
        """end_threshold: of the search by label, `decoding.end_threshold`."""
        self._end_threshold = end_threshold
        self._units = units
        self._given = utterances
        self._utterances: list[DevUtterance] = []
        self._collective = collective
        self._model = model
        self.retrace()

    def retrace(self) -> None:
        """See `Evaluator`."""
        self._greedy = greedy(self._model, self._end_threshold)
        self._align = alignment_function(self._model, self._units)

    def load(self) -> None:
        """Read and compute the utterances; once, before the first `measure`."""
        self._utterances = sorted(self._given, key=lambda u: len(u.features))

    def measure(self, recognised: Callable[[int], None] = lambda count: None) -> float:
        """Return the word error rate over all ranks' utterances; 0 if there are none.

        recognised: called with the number of utterances of each batch, when it is done.
        """
        pairs: list[tuple[str, str]] = []
        for first in range(0, len(self._utterances), _BATCH):
            batch = self._utterances[first : first + _BATCH]
            pairs += zip((u.text for u in batch), self._recognise(batch), strict=True)
            recognised(len(batch))
        own = score(pairs)
        errors = own.substitutions + own.insertions + own.deletions
        totals = np.sum(self._collective.gather((errors, own.reference_words)), axis=0)
        return float(totals[0]) / max(1, int(totals[1]))

    def alignment(self) -> Alignment | None:
        """See `Evaluator`: an utterance of median length, or the next shorter one that can be plotted."""
        for utterance in reversed(self._utterances[: len(self._utterances) // 2 + 1]):
            with suppress(RejectedExample):
                labels = self._units.labels(utterance.text)
                if is_plottable(self._model.framing.frames(len(utterance.features)), len(labels)):
                    return self._align(utterance.features, labels)
        return None

    def _recognise(self, batch: Sequence[DevUtterance]) -> list[str]:
        lengths = np.array([len(u.features) for u in batch], np.int32)
        features = np.zeros((len(batch), lengths.max(), batch[0].features.shape[1]), np.float32)
        for i, utterance in enumerate(batch):
            features[i, : lengths[i]] = utterance.features
        return [self._units.text(units) for units in self._greedy(features, lengths)]
