"""What a search with monotonic attention drives: a decoder whose hypotheses seek their frames while these arrive."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MonotonicDecoder", "States"]

States: TypeAlias = tuple[NDArray[Any], ...]
"""Of N hypotheses, arrays [N, ...]; a row of each belongs to one, so that searches may pick and join them."""


class MonotonicDecoder(Protocol):
    """Decoder of a model. Labels are its symbols, the last of which is the end; it also stands before the first label.

    Every hypothesis has a head of its own, which moves forwards only. `seek` prepares the step to its next label, and
    `look` offers it frames, in order, until it attends to one; then it has the label's log-probabilities, and its
    extensions seek again, from the same frame on. So a frame is no longer needed once `window` - 1 others have followed
    it.

    window: frames, up to the head's, that a label depends on.
    """

    window: int

    def begin(self) -> States:
        """Return the state of one hypothesis, without labels, as `seek` takes it."""
        ...

    def seek(self, before: NDArray[np.int32], states: States) -> States:
        """Return the states in which hypotheses seek what follows the labels `before`, Int32[N]."""
        ...

    def look(
        self, frames: NDArray[np.float32], states: States
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32], States]:
        """Return who attends, Bool[N], log-probabilities [N, symbols] of what follows, and the states for `seek`.

        frames: [at most `window`, size], the last of those so far, of which the last one is offered; none of them says
        that the utterance is over, and all attend to nothing. Of a hypothesis that does not attend, what is returned
        has no meaning: its state stays as it was.
        """
        ...

    def frame_log_probs(self, encoded: Sequence[NDArray[np.float32]]) -> Sequence[NDArray[np.float32]]:
        """See `LabelDecoder`."""
        ...
