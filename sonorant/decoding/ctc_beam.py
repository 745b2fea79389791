"""CTC prefix beam search, incremental, frame by frame; its loops are compiled: `prefix_search.hpp`.

The recursion is that of Hannun et al. 2014, "First-Pass Large Vocabulary Continuous Speech Recognition using
Bi-Directional Recurrent DNNs", algorithm 1; a `Scorer` adds language model and phrases. With a neural language model a
search stops where it needs the model; `run_together` lets several share its calls.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.hypothesis import Hypothesis, Word
from sonorant.decoding.kernels import CtcSearch
from sonorant.decoding.prefix_states import PrefixStates, Stops, run_together
from sonorant.decoding.scorer import Scorer
from sonorant.errors import SonorantError
from sonorant.text.units import Units

__all__ = ["BLANK_ONLY", "UNIT_FLOOR", "BadLogProbs", "CtcBeamSearch", "search_whole"]

# Units less probable than this do not extend any prefix; a true word may hide behind 1e-4 in noise, never behind 1e-6.
UNIT_FLOOR = 1e-6
# Above this probability of blank no prefix is extended: a unit that is below 0.001 here peaks in another frame.
BLANK_ONLY = 0.999


class BadLogProbs(SonorantError):
    """Invalid log-probabilities: wrong shape, NaN, or frames without a possible symbol."""


class CtcBeamSearch:
    """Streaming search of one utterance; results do not depend on how the frames are cut into pushes.

    units: the model's; blank is `units.blank`, the last column.
    vector_seconds: time from frame to frame.
    beam: prefixes kept after each frame.
    unit_candidates: units per frame that may extend a prefix, most probable first.
    scorer: language model and phrases; None: neither.
    unit_floor, blank_only: see the constants of this module; 0.0 and 1.0 make the search exact but for the beam.
    """

    def __init__(
        self,
        units: Units,
        vector_seconds: float,
        beam: int = 8,
        unit_candidates: int = 12,
        *,
        scorer: Scorer | None = None,
        unit_floor: float = UNIT_FLOOR,
        blank_only: float = BLANK_ONLY,
    ) -> None:
        self._units = units
        self._vector_seconds = vector_seconds
        kernel = (scorer or Scorer(units)).kernel
        self._latest: list[_Spelling] = []
        self._text_hash, self._text = -1, ""
        self._search = CtcSearch(kernel, beam, unit_candidates, unit_floor, blank_only)
        neural = scorer.neural if scorer else None
        self._states = PrefixStates(self._search, neural.model) if neural else None

    @property
    def frames(self) -> int:
        """Frames searched so far."""
        return self._search.frames

    @property
    def prefixes(self) -> int:
        """Prefixes in memory."""
        return self._search.prefixes

    @property
    def language_model_states(self) -> int:
        """States of a neural language model in memory."""
        return len(self._states) if self._states is not None else 0

    def push(self, log_probs: NDArray[np.floating[Any]]) -> None:
        """Search the next `log_probs` [frames, units + 1]; raises BadLogProbs, which ends the search."""
        run_together([self.pushing(log_probs)])

    def finish(self) -> None:
        """End the utterance, and with it open words, phrases and the sentence; `hypotheses` are final."""
        run_together([self.finishing()])

    def pushing(self, log_probs: NDArray[np.floating[Any]]) -> Stops:
        """`push` that stops where it needs the language model."""
        if log_probs.ndim != 2 or log_probs.shape[1] != self._units.size + 1:
            raise BadLogProbs(
                f"log_probs of shape {log_probs.shape}: expected [frames, {self._units.size + 1}], blank last"
            )
        rows: NDArray[np.float32] | NDArray[np.float64]
        if log_probs.dtype == np.float32:
            rows = np.ascontiguousarray(log_probs, np.float32)
        else:
            rows = np.ascontiguousarray(log_probs, np.float64)
        row = 0
        try:
            while (row := self._search.push(rows, row)) < len(rows):
                yield from self._stop()
        except ValueError as error:
            raise BadLogProbs(str(error)) from None

    def finishing(self) -> Stops:
        """`finish` that stops likewise."""
        try:
            while not self._search.finish():
                yield from self._stop()
        except ValueError as error:
            raise BadLogProbs(str(error)) from None
        if self._states is not None:
            self._states.clear()

    def _stop(self) -> Stops:
        assert self._states is not None, "a search without a neural language model waits for none"
        log_probs, states = yield self._states
        self._states.supply(log_probs, states)

    def hypotheses(self, n: int = 1, *, words: bool = True) -> list[Hypothesis]:
        """Return the `n` most probable transcripts so far, best first, with or without `words`; never empty.

        Paths that spell the same text are one hypothesis: their probabilities add up, and the most probable gives the
        times. The confidence of a word is the sum of the probabilities of all paths that have the same word within
        0.1 s of its span, each word of a path for one; so it is never below the confidence of its hypothesis.
        """
        if not words:
            return [Hypothesis(ids, self._units.text(ids), (), mass) for ids, mass in self._search.texts(n)]
        found = self._search.best(n, self._vector_seconds)
        before = dict(enumerate(self._latest))
        self._latest = [_Spelling(*one, self._units, before.get(rank)) for rank, one in enumerate(found)]
        return [latest.hypothesis for latest in self._latest]

    def text(self) -> str:
        """Return the most probable text so far, without the cost of words, times and confidences."""
        text_hash = self._search.text_hash
        if text_hash != self._text_hash:
            self._text_hash, self._text = text_hash, self._units.text(self._search.units())
        return self._text


_KernelWord = tuple[int, int, float, float, float]  # first unit, end of its units, start and end in s, confidence


class _Spelling:
    """A hypothesis, of which the words that an earlier one had too are the same objects: they cost nothing again."""

    def __init__(
        self,
        ids: tuple[int, ...],
        words: list[_KernelWord],
        confidence: float,
        units: Units,
        before: "_Spelling | None",
    ) -> None:
        self._words = words
        spelt = tuple(
            known or Word(units.text(ids[word[0] : word[1]]), *word[2:])
            for word, known in zip(words, self._known(ids, before), strict=True)
        )
        self.hypothesis = Hypothesis(ids, units.text(ids), spelt, confidence)

    def _known(self, ids: tuple[int, ...], before: "_Spelling | None") -> Iterator[Word | None]:
        """Yield for each word the earlier one if all of it is the same."""
        same = _common(before.hypothesis.units, ids) if before else 0
        for i, word in enumerate(self._words):
            is_known = before and word[1] <= same and i < len(before._words) and word == before._words[i]
            yield before.hypothesis.words[i] if before and is_known else None


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return the length of the longest common beginning."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(i for i in range(shorter) if one[i] != other[i])


def search_whole(searches: Iterable[tuple[CtcBeamSearch, NDArray[np.floating[Any]]]]) -> None:
    """Search and finish whole utterances [frames, units + 1] side by side, all with one scorer; raises BadLogProbs."""
    run_together(_through(search, log_probs) for search, log_probs in searches)


def _through(search: CtcBeamSearch, log_probs: NDArray[np.floating[Any]]) -> Stops:
    yield from search.pushing(log_probs)
    yield from search.finishing()
