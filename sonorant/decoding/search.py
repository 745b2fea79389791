"""The search's contract with recognition: the seam behind which decoders are written.

A `Search` follows one utterance: it is pushed the outputs of a model's signature, and has hypotheses at any time. It
may score them with more than these outputs (a language model, phrases). The outputs of a label-synchronous family are
encoded frames, and its search drives the model's decoder, without a change for its callers. A search holds all state of
its utterance, so a hundred streams are a hundred searches, and none depends on its neighbours.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.ctc_beam import CtcBeamSearch, search_whole
from sonorant.decoding.hypothesis import Hypothesis
from sonorant.decoding.label_beam import LabelBeam, Scoring
from sonorant.decoding.label_decoder import LabelDecoder
from sonorant.decoding.label_search import LabelSearch, search_in_batches
from sonorant.decoding.monotonic_search import MonotonicSearch
from sonorant.decoding.scorer import Scorer
from sonorant.decoding.section import DecodingRecipe
from sonorant.text.units import Units

__all__ = ["Search", "open_search", "search_all"]

_SIDE_BY_SIDE = 32  # searches of CTC, which share the calls of a neural language model


class Search(Protocol):
    """Search of one utterance; its results do not depend on how the outputs are cut into pushes."""

    @property
    def frames(self) -> int:
        """Frames searched so far."""
        ...

    def push(self, outputs: NDArray[np.floating[Any]]) -> None:
        """Search the model's next outputs [frames, size]; raises BadLogProbs."""
        ...

    def finish(self) -> None:
        """End the utterance: `hypotheses` are final."""
        ...

    def hypotheses(self, n: int = 1, *, words: bool = True) -> Sequence[Hypothesis]:
        """Return the `n` most probable transcripts so far, best first; never empty.

        words: whether they have words; without them they cost less.
        """
        ...

    def text(self) -> str:
        """Return the most probable text so far, without the cost of words, times and confidences."""
        ...


def _ctc(
    units: Units, frame_seconds: float, decoding: DecodingRecipe, decoder: LabelDecoder | None, scorer: Scorer
) -> CtcBeamSearch:
    return CtcBeamSearch(units, frame_seconds, decoding.beam, decoding.unit_candidates, scorer=scorer)


def _labels(
    units: Units, frame_seconds: float, decoding: DecodingRecipe, decoder: LabelDecoder | None, scorer: Scorer
) -> Search:
    assert decoder is not None, "a label-synchronous search has no decoder to drive"
    return LabelSearch(decoder, units, frame_seconds, decoding.beam, _scoring(decoding, scorer))


def _scoring(decoding: DecodingRecipe, scorer: Scorer) -> Scoring:
    return Scoring(
        scorer.by_label,
        decoding.length_bonus,
        decoding.coverage_weight,
        ctc_weight=decoding.ctc_weight,
        end_threshold=decoding.end_threshold,
    )


def _monotonic(units: Units, frame_seconds: float, decoding: DecodingRecipe, decoder: Any, scorer: Scorer) -> Search:
    adding = decoding.length_bonus, scorer.by_label, decoding.end_threshold, decoding.ctc_weight
    return MonotonicSearch(decoder, units, frame_seconds, decoding.beam, *adding)


def _ctc_together(
    units: Units,
    frame_seconds: float,
    decoding: DecodingRecipe,
    decoder: LabelDecoder | None,
    scorer: Scorer,
    utterances: Sequence[NDArray[np.float32]],
) -> list[Hypothesis]:
    best: list[Hypothesis] = []
    for first in range(0, len(utterances), _SIDE_BY_SIDE):
        batch = utterances[first : first + _SIDE_BY_SIDE]
        searches = [_ctc(units, frame_seconds, decoding, decoder, scorer) for _ in batch]
        search_whole(zip(searches, batch, strict=True))
        best += [search.hypotheses(1)[0] for search in searches]
    return best


def _labels_together(
    units: Units,
    frame_seconds: float,
    decoding: DecodingRecipe,
    decoder: LabelDecoder,
    scorer: Scorer,
    utterances: Sequence[NDArray[np.float32]],
) -> list[Hypothesis]:
    beam = LabelBeam(decoder, units.size, decoding.beam, _scoring(decoding, scorer))
    return [found[0] for found in search_in_batches(beam, units, frame_seconds, utterances)]


_SEARCHES = {"ctc": _ctc, "labels": _labels, "monotonic": _monotonic}
# Of whole utterances; those of other kinds are searched one by one.
_TOGETHER: dict[str, Callable[..., list[Hypothesis]]] = {"ctc": _ctc_together, "labels": _labels_together}


def open_search(
    kind: str,
    units: Units,
    frame_seconds: float,
    decoding: DecodingRecipe,
    decoder: Any,
    scorer: Scorer,
) -> Search:
    """Return a search of a new utterance.

    kind: the model's `search`; frame_seconds: time from frame to frame; decoder: of a label-synchronous model, as its
    search drives it; scorer: language model and phrases, shared by all searches of the model.
    """
    return _SEARCHES[kind](units, frame_seconds, decoding, decoder, scorer)


def search_all(
    kind: str,
    units: Units,
    frame_seconds: float,
    decoding: DecodingRecipe,
    decoder: Any,
    scorer: Scorer,
    utterances: Sequence[NDArray[np.float32]],
) -> list[Hypothesis]:
    """Return the best hypothesis of each whole utterance [frames, size]: what a search of each finds, at less cost.

    Arguments as those of `open_search`; raises BadLogProbs.
    """
    if kind in _TOGETHER:
        return _TOGETHER[kind](units, frame_seconds, decoding, decoder, scorer, utterances)
    best: list[Hypothesis] = []
    for frames in utterances:
        search = open_search(kind, units, frame_seconds, decoding, decoder, scorer)
        if len(frames):
            search.push(frames)
        search.finish()
        best.append(search.hypotheses(1)[0])
    return best
