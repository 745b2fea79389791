"""The search's contract with recognition: the seam behind which decoders are written.

A `Search` follows one utterance: it is pushed the outputs of a model's streaming signature, and has hypotheses at any
time. It may score them with more than these outputs (a language model, phrases) and, for a label-synchronous
family, drive the model's decoder itself, without a change for its callers. A search holds all state of its
utterance, so a hundred streams are a hundred searches, and none depends on its neighbours.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import CtcBeamSearch
from sonorant.decoding.greedy import best_path
from sonorant.decoding.hypothesis import Hypothesis
from sonorant.decoding.section import DecodingRecipe
from sonorant.text.units import Units

__all__ = ["GREEDY", "Search", "open_search"]


class Search(Protocol):
    """Search of one utterance; its results do not depend on how the outputs are cut into pushes."""

    @property
    def frames(self) -> int:
        """Frames searched so far."""
        ...

    def push(self, outputs: NDArray[np.floating[Any]]) -> None:
        """Search the model's next outputs [frames, symbols]; raises BadLogProbs."""
        ...

    def finish(self) -> None:
        """End the utterance: `hypotheses` are final."""
        ...

    def hypotheses(self, n: int = 1) -> Sequence[Hypothesis]:
        """Return the `n` most probable transcripts so far, best first; never empty."""
        ...

    def text(self) -> str:
        """Return the most probable text so far, without the cost of words, times and confidences."""
        ...


def _ctc(units: Units, vector_seconds: float, decoding: DecodingRecipe) -> Search:
    return CtcBeamSearch(units, vector_seconds, decoding.beam, decoding.unit_candidates)


_SEARCHES = {"ctc": _ctc}
GREEDY = {"ctc": best_path}
"""The cheapest search of each kind: the outputs [frames, symbols] of a whole utterance to the units they spell."""


def open_search(kind: str, units: Units, vector_seconds: float, decoding: DecodingRecipe) -> Search:
    """Return a search of a new utterance.

    kind: the model's `search`; vector_seconds: time from frame to frame.
    """
    return _SEARCHES[kind](units, vector_seconds, decoding)
