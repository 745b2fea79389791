"""The decoders of an ensemble of label-synchronous models, as one: the mean of their probabilities, label by label."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.label_decoder import LabelDecoder

__all__ = ["MeanDecoder", "log_mean"]

_Floats = NDArray[np.float32]


class MeanDecoder:
    """A `LabelDecoder` of encoded frames [frames, sizes[0] + sizes[1] + …], the members' frames side by side.

    The members have the same symbols. Attention is the mean of theirs, by which a search finds times and coverage. A
    state is that of each. joint_ctc: whether all have log-probabilities by frame.
    """

    def __init__(self, members: Sequence[LabelDecoder], sizes: Sequence[int], *, joint_ctc: bool) -> None:
        self._members = members
        self._ends = np.cumsum(sizes)[:-1]
        self.joint_ctc = joint_ctc

    def begin(self, encoded: Sequence[_Floats]) -> Any:
        """See `LabelDecoder`."""
        return [member.begin(own) for member, own in self._split(encoded)]

    def next(self, before: NDArray[np.int32], parents: NDArray[np.int32], state: Any) -> tuple[_Floats, _Floats, Any]:
        """See `LabelDecoder`."""
        found = [member.next(before, parents, own) for member, own in zip(self._members, state, strict=True)]
        log_probs, attention, after = zip(*found, strict=True)
        weights: _Floats = np.mean(attention, axis=0, dtype=np.float32)
        return log_mean(log_probs), weights, list(after)

    def frame_log_probs(self, encoded: Sequence[_Floats]) -> list[_Floats]:
        """See `LabelDecoder`."""
        by_member = [member.frame_log_probs(own) for member, own in self._split(encoded)]
        return [log_mean(of_utterance) for of_utterance in zip(*by_member, strict=True)]

    def _split(self, encoded: Sequence[_Floats]) -> list[tuple[LabelDecoder, list[_Floats]]]:
        """Return each member with its frames of each utterance."""
        parts = [np.split(frames, self._ends, axis=1) for frames in encoded]
        return [(member, list(own)) for member, own in zip(self._members, zip(*parts, strict=True), strict=True)]


def log_mean(log_probs: Sequence[_Floats]) -> _Floats:
    """Return the logarithm of the mean of probabilities, from an array of log-probabilities of each member."""
    mean: _Floats = np.logaddexp.reduce(log_probs) - np.float32(np.log(len(log_probs)))
    return mean
