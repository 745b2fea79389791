"""A language model for searches, which know arrays only.

`TensorLanguageModel` makes of a model's functions what searches take, but for the units
(`sonorant.decoding.neural_fusion.NeuralModel`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TensorLanguageModel"]

_State = dict[str, Any]

# Sequences in a call of `extend`, always as many: sums in a matrix product, and with them the last bits, depend on its
# size, but not on the other rows or on a row's place. Of an LSTM with 2 x 512 cells and 1,000 units one row took 1.4
# ms, 8 took 2.9, 16 took 4.0, and 32 took 5.8; 16 divide into the vectors of any processor, without a rest.
_TILE = 16


class TensorLanguageModel:
    """Holds no hypothesis' state, so threads may share it."""

    def __init__(self, functions: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
        """functions: of `sonorant.models.language_model_functions`, an export's or in memory."""
        self._functions = functions

    def begin(self, batch: int) -> _State:
        """See `LabelModel`."""
        return self._functions["lm_begin"](batch=np.int32(batch))

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: _State
    ) -> tuple[NDArray[np.float64], _State]:
        """See `LabelModel`."""
        labels = {"before": np.asarray(before, np.int32), "parents": np.asarray(parents, np.int32)}
        after = dict(self._functions["lm_next"](**labels, **state))
        return np.asarray(after.pop("log_probs"), np.float64), after

    def first_state(self) -> _State:
        """See `SequenceModel`: arrays [1, ...] by name."""
        return {name: np.asarray(array)[0] for name, array in self.begin(1).items()}

    def extend(self, before: Sequence[int], states: Sequence[_State]) -> tuple[NDArray[np.float32], list[_State]]:
        """See `SequenceModel`; sequences whose states are of one size share calls."""
        log_probs: list[Any] = [None] * len(before)
        after: list[_State] = [{} for _ in before]
        for tile in _tiles(states):
            full = tile + tile[:1] * (_TILE - len(tile))
            last = np.array([[before[i]] for i in full], np.int32)
            stacked = {name: np.stack([states[i][name] for i in full]) for name in states[tile[0]]}
            found = self._functions["lm_next"](before=last, parents=np.zeros((_TILE, 1), np.int32), **stacked)
            rows = {name: np.asarray(array) for name, array in found.items()}
            for row, i in enumerate(tile):
                log_probs[i] = rows["log_probs"][row, 0]
                after[i] = {name: rows[name][row].copy() for name in stacked}  # a view would keep the whole tile
        return np.stack(log_probs), after


def _tiles(states: Sequence[_State]) -> list[list[int]]:
    """Return the numbers of states, at most `_TILE` of one size together."""
    by_size: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for i, state in enumerate(states):
        by_size.setdefault(tuple(state[name].shape for name in sorted(state)), []).append(i)
    return [same[first : first + _TILE] for same in by_size.values() for first in range(0, len(same), _TILE)]
