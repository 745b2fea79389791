"""The search by label with a decoder of BFA: what it costs, and how much of that is the search itself, in numpy.

The decoder has the size of `recipes/grammar-bfa.yaml` and its first, untrained weights. A bonus for each label lets a
search go on for as many labels as there are frames.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.row import Row
from sonorant.decoding.label_beam import LabelBeam, Scoring
from sonorant.models.bfa import Bfa
from sonorant.models.decoder_functions import model_decoder
from sonorant.models.section import BfaRecipe

__all__ = ["label_rows"]

_MODEL = BfaRecipe(
    family="bfa", layers=2, cells=192, pooling=(2,), decoder_cells=192, embedding=64, attention=128, readout=192
)
_UNITS, _FRAMES = 256, 50
_BONUS = 8.0  # more than a label costs where all are as probable


class _Timed:
    """A `LabelDecoder` that measures its own CPU time."""

    def __init__(self, model: Bfa) -> None:
        self._decoder = model_decoder(model)
        self.seconds = 0.0

    def begin(self, encoded: Sequence[Any]) -> Any:
        """See `LabelDecoder`."""
        return self._measured(self._decoder.begin, encoded)

    def next(self, *of_hypotheses: Any) -> Any:
        """See `LabelDecoder`."""
        return self._measured(self._decoder.next, *of_hypotheses)

    def frame_log_probs(self, encoded: Sequence[Any]) -> Any:
        """See `LabelDecoder`."""
        return self._measured(self._decoder.frame_log_probs, encoded)

    def _measured(self, call: Any, *arguments: Any) -> Any:
        start = time.process_time()
        found = call(*arguments)
        self.seconds += time.process_time() - start
        return found


def label_rows(beam: int, utterances: int) -> Iterator[Row]:
    """Yield the rate of utterances one by one, and the search's own share of the time."""
    model = Bfa(_MODEL, 1, _UNITS, seed=1)
    rng = np.random.default_rng(1)
    every = [rng.standard_normal((_FRAMES, model.encoded_size), np.float32) for _ in range(utterances)]
    decoder = _Timed(model)
    search = LabelBeam(decoder, _UNITS, beam, Scoring(length_bonus=_BONUS))
    search.search(every[:1])  # the first call is slow
    decoder.seconds, start = 0.0, time.process_time()
    for encoded in every:
        search.search([encoded])
    seconds = time.process_time() - start
    case = f"{_UNITS} units, {_FRAMES} labels, beam {beam}, BFA"
    yield Row("label search", case, len(every) / seconds, "utterances/core-s")
    yield Row("label search", f"{case}, beside its decoder", 1 - decoder.seconds / seconds, "1")
