"""What a search with monotonic attention drives: a decoder whose hypotheses seek their frames while these arrive."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["LABELS_A_FRAME", "Heard", "MonotonicDecoder", "States"]

LABELS_A_FRAME = 4  # labels that a head may attend with to one encoded frame, which lasts some 60 ms

States: TypeAlias = tuple[NDArray[Any], ...]
"""Of N hypotheses, arrays [N, ...]; a row of each belongs to one, so that searches may pick and join them."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What there is of an utterance: its last frames [at most `window`, size], and how many have come so far.

    The last frame is offered; or, where the utterance is over, nothing, to which all attend.
    """

    frames: NDArray[np.float32]
    count: int
    over: bool

    @property
    def offered(self) -> NDArray[np.float32]:
        """The frames of which the last one is offered; none where the utterance is over."""
        return self.frames[:0] if self.over else self.frames


class MonotonicDecoder(Protocol):
    """Decoder of a model. Labels are its symbols, the last of which is the end; it also stands before the first label.

    Every hypothesis has a head of its own, which moves forwards only. `seek` prepares the step to its next label, and
    `look` offers it frames, in order, until it attends to one; then it has the label's log-probabilities, and its
    extensions seek again, from the same frame on. So a frame is no longer needed once `window` - 1 others have followed
    it.

    window: frames, up to the last one, that `look` needs.
    """

    window: int

    def begin(self) -> States:
        """Return the state of one hypothesis, without labels, as `seek` takes it."""
        ...

    def seek(self, before: NDArray[np.int32], states: States) -> States:
        """Return the states in which hypotheses seek what follows the labels `before`, Int32[N]."""
        ...

    def look(self, heard: Heard, states: States) -> tuple[NDArray[np.bool_], NDArray[np.float32], States]:
        """Return who attends, Bool[N], log-probabilities [N, symbols] of what follows, and the states after.

        `seek` takes the states of those that attend, and the next `look` those of the others, whose log-probabilities
        have no meaning.
        """
        ...

    def frame_log_probs(self, encoded: Sequence[NDArray[np.float32]]) -> Sequence[NDArray[np.float32]]:
        """See `LabelDecoder`."""
        ...
