"""A neural language model in the prefix search of CTC.

The compiled search stops at a frame where it needs what follows prefixes that are new, and names these. Most frames
are blank: at them nothing is new. Searches that stop are served together, by one call of the model.
"""

from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.kernels import CtcSearch
from sonorant.decoding.neural_fusion import NeuralModel

__all__ = ["PrefixStates", "Stops", "run_together"]


class PrefixStates:
    """The model's states after prefixes of one search, by the slots that the compiled search assigns.

    A state is dropped with its slot, when no prefix of the beam needs it, so there are at most two for each of these.
    """

    def __init__(self, search: CtcSearch, model: NeuralModel) -> None:
        self.model = model
        self._search = search
        self._first = model.first_state()
        self._states: dict[int, Any] = {}
        self._due: list[int] = []

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self._states)

    def due(self) -> tuple[list[int], list[Any]]:
        """Return what `SequenceModel.extend` takes of the prefixes that the stopped search has named."""
        released, self._due, parents, labels = self._search.due()
        for slot in released:
            del self._states[slot]
        end = self.model.units.size
        states = [self._first if parent < 0 else self._states[parent] for parent in parents]
        return [end if label < 0 else label for label in labels], states

    def supply(self, log_probs: NDArray[np.float32], states: list[Any]) -> None:
        """Let the search go on; raises ValueError for log-probabilities that are none."""
        self._search.supply(np.ascontiguousarray(log_probs, np.float32))
        self._states.update(zip(self._due, states, strict=True))

    def clear(self) -> None:
        """Drop all states: the search is over."""
        self._states.clear()


Stops: TypeAlias = Generator[PrefixStates, tuple[NDArray[np.float32], list[Any]], None]
"""A search under way, which stops wherever it needs the model, to be sent what `PrefixStates.supply` takes."""


def run_together(searches: Iterable[Stops]) -> None:
    """Run searches with the same model to their ends side by side; all that stop share a call of the model."""
    running = [(search, stop) for search in searches if (stop := next(search, None)) is not None]
    while running:
        due = [stop.due() for _, stop in running]
        before = [label for labels, _ in due for label in labels]
        log_probs, after = running[0][1].model.extend(before, [state for _, states in due for state in states])
        still, first = [], 0
        for (search, _), (labels, _) in zip(running, due, strict=True):
            rows = slice(first, first + len(labels))
            first += len(labels)
            with suppress(StopIteration):
                still.append((search, search.send((log_probs[rows], after[rows]))))
        running = still
