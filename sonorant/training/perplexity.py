"""Perplexity of a language model on dev, split across the ranks."""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from sonorant.corpus.shards import ShardSet
from sonorant.errors import RejectedExample
from sonorant.models.language_model import LanguageModel
from sonorant.tensorflow import graph_function, tf
from sonorant.text.units import Units
from sonorant.training.collective import Collective

__all__ = ["PerplexityEvaluator", "dev_sentences"]

_BATCH = 32
_LARGEST = 700.0  # exponent of a float


def dev_sentences(shards: ShardSet, rank: int, size: int) -> Iterator[str]:
    """Yield this rank's share of dev, as text."""
    for ordinal in range(rank, shards.total, size):
        yield shards.read(*shards.locate(ordinal)).text


class PerplexityEvaluator:
    """An `Evaluator` by text: exp of the mean cross-entropy of all units and ends, natural logarithms.

    Sentences with a symbol that no unit spells have no probability, and are left out.
    """

    figure = "perplexity"

    def __init__(self, model: LanguageModel, units: Units, sentences: Iterable[str], collective: Collective) -> None:
        self._units = units
        self._given = sentences
        self._labels: list[list[int]] = []
        self._collective = collective
        self._model = model
        self.left_out = 0
        self.retrace()

    def retrace(self) -> None:
        """See `Evaluator`."""
        signature = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)]
        self._log_probs = graph_function(self._model.sentence_log_probs, input_signature=signature)

    def load(self) -> None:
        """Read and spell the sentences; those of similar length share a batch."""
        for sentence in self._given:
            try:
                self._labels.append(self._units.labels(sentence))
            except RejectedExample:
                self.left_out += 1
        self._labels.sort(key=len)

    def alignment(self) -> None:
        """See `Evaluator`: a language model aligns nothing."""

    def measure(self, recognised: Callable[[int], None] = lambda count: None) -> float:
        """Return the perplexity of all ranks' sentences; 1 if there are none."""
        cost, symbols = 0.0, 0
        for first in range(0, len(self._labels), _BATCH):
            batch = self._labels[first : first + _BATCH]
            lengths = np.array([len(labels) for labels in batch], np.int32)
            padded = np.zeros((len(batch), lengths.max()), np.int32)
            for i, labels in enumerate(batch):
                padded[i, : lengths[i]] = labels
            cost -= float(np.sum(self._log_probs(padded, lengths).numpy(), dtype=np.float64))
            symbols += int(lengths.sum()) + len(batch)
            recognised(len(batch))
        totals = np.sum(self._collective.gather((cost, symbols)), axis=0)
        mean = float(totals[0]) / max(1, int(totals[1]))
        return math.exp(mean) if mean < _LARGEST else math.inf  # if it is NaN too
