"""A search whose N-best list a neural language model scores anew when the utterance is over."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import CtcBeamSearch
from sonorant.decoding.hypothesis import Hypothesis, with_confidence
from sonorant.decoding.neural_fusion import NeuralFusion

__all__ = ["RescoredSearch"]


class RescoredSearch:
    """A `Search` of CTC outputs, best first by log P(c | x) + alpha log P_lm(c) + beta word_count(c) at the end.

    P(c | x) is the search's posterior of each of its at most `beam` texts; what the beam has lost by then does not come
    back. Until `finish` hypotheses are those of the search, without the language model.
    """

    def __init__(self, search: CtcBeamSearch, fusion: NeuralFusion, beam: int) -> None:
        self._search = search
        self._fusion = fusion
        self._beam = beam
        self._rescored: list[Hypothesis] | None = None

    @property
    def frames(self) -> int:
        """Frames searched so far."""
        return self._search.frames

    def push(self, outputs: NDArray[np.floating[Any]]) -> None:
        """Search the model's next outputs; see `CtcBeamSearch`."""
        self._search.push(outputs)

    def finish(self) -> None:
        """End the utterance, and score its texts."""
        self._search.finish()
        self._rescored = self._score(self._search.hypotheses(self._beam))

    def hypotheses(self, n: int = 1) -> Sequence[Hypothesis]:
        """Return the `n` best transcripts, best first; never empty."""
        return self._search.hypotheses(n) if self._rescored is None else self._rescored[:n]

    def text(self) -> str:
        """Return the best text."""
        return self._search.text() if self._rescored is None else self._rescored[0].text

    def _score(self, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        posteriors = np.array([hypothesis.confidence for hypothesis in found])
        with np.errstate(divide="ignore"):
            scores = np.log(posteriors) + self._fusion.scores([hypothesis.units for hypothesis in found])
        posteriors = np.exp(scores - np.logaddexp.reduce(scores))
        alternatives = [(one.words, float(mass)) for one, mass in zip(found, posteriors, strict=True)]
        return [
            replace(found[i], words=with_confidence(found[i].words, alternatives), confidence=float(posteriors[i]))
            for i in np.argsort(-scores, kind="stable").tolist()
        ]
