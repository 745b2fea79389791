"""The searches by label with decoders of BFA and MoChA: what they cost, and how much of that is the searches' own.

The decoders have the sizes of `recipes/grammar-bfa.yaml` and `grammar-mocha.yaml` and their first, untrained weights. A
bonus for each label lets a search go on for as many labels as there are frames; heads of MoChA stop at some half of
them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Row
from sonorant.decoding import LabelBeam, MonotonicSearch, Scoring
from sonorant.models.bfa import Bfa
from sonorant.models.decoder_functions import model_decoder
from sonorant.models.mocha import Mocha
from sonorant.models.monotonic_decoder import TensorMonotonicDecoder
from sonorant.models.monotonic_functions import monotonic_functions
from sonorant.models.section import BfaRecipe, MochaRecipe
from sonorant.tensorflow import of_arrays
from sonorant.text.units import Units

__all__ = ["label_rows", "monotonic_rows"]

_SIZES: dict[str, Any] = dict(
    layers=2, cells=192, pooling=(2,), decoder_cells=192, embedding=64, attention=128, readout=192
)
_UNITS, _FRAMES = 256, 50
_BONUS = 8.0  # more than a label costs where all are as probable


class _Timed:
    """A decoder that measures its own CPU time."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._decoder, name)
        return self._measured(found) if callable(found) else found

    def _measured(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*arguments: Any) -> Any:
            start = time.process_time()
            found = call(*arguments)
            self.seconds += time.process_time() - start
            return found

        return measured


def label_rows(beam: int, utterances: int) -> Iterator[Row]:
    """Yield the rate of utterances one by one, and the search's own share of the time."""
    model = Bfa(BfaRecipe(family="bfa", **_SIZES), 1, _UNITS, seed=1)
    decoder = _Timed(model_decoder(model))
    beams = LabelBeam(decoder, _UNITS, beam, Scoring(length_bonus=_BONUS))

    def search(encoded: NDArray[np.float32]) -> None:
        beams.search([encoded])

    case = f"{_UNITS} units, {_FRAMES} labels, beam {beam}, BFA"
    yield from _rows("label search", case, decoder, search, _utterances(utterances, model.encoded_size))


def monotonic_rows(beam: int, utterances: int) -> Iterator[Row]:
    """Yield the same of the search by monotonic attention, frame by frame, without joint CTC and with it."""
    recipe = MochaRecipe(family="mocha", chunk=8, energy_offset=0.0, ctc=True, **_SIZES)
    model = Mocha(recipe, 1, _UNITS, seed=1)
    functions = {name: of_arrays(function) for name, function in monotonic_functions(model).items()}
    decoder = _Timed(TensorMonotonicDecoder(functions))
    units = Units("words", tuple(f"w{i}" for i in range(_UNITS)))

    def search(encoded: NDArray[np.float32], ctc_weight: float) -> None:
        one = MonotonicSearch(decoder, units, 0.06, beam, _BONUS, ctc_weight=ctc_weight)
        one.push(encoded)
        one.finish()

    case, spoken = f"{_UNITS} units, {_FRAMES} frames, beam {beam}, MoChA", _utterances(utterances, model.encoded_size)
    for ctc_weight, which in ((0.0, case), (0.2, f"{case} with joint CTC")):
        yield from _rows("monotonic search", which, decoder, partial(search, ctc_weight=ctc_weight), spoken)


def _utterances(count: int, size: int) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal((_FRAMES, size), np.float32) for _ in range(count)]


def _rows(
    name: str,
    case: str,
    decoder: _Timed,
    search: Callable[[NDArray[np.float32]], None],
    every: Sequence[NDArray[np.float32]],
) -> Iterator[Row]:
    search(every[0])  # the first call is slow
    decoder.seconds, start = 0.0, time.process_time()
    for encoded in every:
        search(encoded)
    seconds = time.process_time() - start
    yield Row(name, case, len(every) / seconds, "utterances/core-s")
    yield Row(name, f"{case}, beside its decoder", 1 - decoder.seconds / seconds, "1")
