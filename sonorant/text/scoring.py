"""Error rates: the share of wrong words, or characters, and its confidence interval."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sonorant.text.alignment import Alignment, Unit, align

__all__ = ["Alignment", "ErrorRate", "align", "bootstrap_interval", "confusions", "error_rate", "score"]

_RESAMPLINGS = 1000
_CHUNK = 1 << 20  # draws at once


@dataclass(frozen=True)
class ErrorRate:
    """Errors of some utterances; `per_utterance` has each one's errors and reference words."""

    substitutions: int
    insertions: int
    deletions: int
    reference_words: int
    per_utterance: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    @property
    def errors(self) -> int:
        """Number of all errors."""
        return self.substitutions + self.insertions + self.deletions

    @property
    def rate(self) -> float:
        """Errors per reference word, a fraction that insertions can lift above 1; without any word, the errors."""
        return self.errors / max(1, self.reference_words)

    @cached_property
    def interval_95(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the rate, always from the same random numbers."""
        return bootstrap_interval(self.per_utterance, np.random.default_rng(0))


def score(pairs: Iterable[tuple[str, str]], unit: Unit = "word") -> ErrorRate:
    """Return the error rate of all (reference, hypothesis) pairs of texts; with unit "character", the CER.

    Texts are compared as they are: `normalise` both before if spelling should not count.
    """
    return error_rate([align(reference, hypothesis, unit) for reference, hypothesis in pairs])


def error_rate(alignments: Sequence[Alignment]) -> ErrorRate:
    """Return the error rate of aligned utterances."""
    return ErrorRate(
        substitutions=sum(alignment.substitutions for alignment in alignments),
        insertions=sum(alignment.insertions for alignment in alignments),
        deletions=sum(alignment.deletions for alignment in alignments),
        reference_words=sum(alignment.reference_words for alignment in alignments),
        per_utterance=tuple((alignment.errors, alignment.reference_words) for alignment in alignments),
    )


def bootstrap_interval(
    per_utterance: Sequence[tuple[int, int]], rng: np.random.Generator, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the error rate (Bisani and Ney, ICASSP 2004).

    per_utterance: errors and reference words. Utterances, not words, are resampled with replacement, 1,000 times:
    the errors of one utterance depend on each other. (0, 0) if there are no utterances.
    """
    counts = np.array(per_utterance, np.int64).reshape(-1, 2)
    utterances = len(counts)
    if not utterances:
        return 0.0, 0.0
    rates: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []
    at_once = max(1, _CHUNK // utterances)
    for first in range(0, _RESAMPLINGS, at_once):
        draws = rng.integers(utterances, size=(min(at_once, _RESAMPLINGS - first), utterances))
        errors, words = counts[draws].sum(axis=1).T
        rates.append(errors / np.maximum(1, words))
    low, high = np.quantile(np.concatenate(rates), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def confusions(alignments: Iterable[Alignment]) -> Counter[tuple[str, str]]:
    """Return the count of each (reference, hypothesis) pair of words, hits too; empty: insertion or deletion."""
    return Counter((step.reference, step.hypothesis) for alignment in alignments for step in alignment.steps)
