"""The decoders of an ensemble of models with monotonic attention, as one: the mean of their probabilities, by label.

A hypothesis has a head of each member. Each stops where its own model says, and waits there for the others; once all
have stopped, the hypothesis attends, and its next label is sought by each from its own frame on. So members that hear
the same label some frames apart do not lose their places.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.mean_decoder import log_mean
from sonorant.decoding.monotonic_decoder import LABELS_A_FRAME, Heard, MonotonicDecoder, States

__all__ = ["MeanMonotonicDecoder"]

# Frames that the head of one member may be behind that of another; if it is further behind, it skips frames.
_BEHIND = 64

_OWN = 4  # arrays that `_Heads` adds to those of the member


@dataclass(frozen=True, slots=True)
class _Heads:
    """Those of one member, for N hypotheses, which change in place.

    frame: Int32[N], the next one to look at; labels: Int32[N], those that have attended to it; stopped: Bool[N];
    log_probs: Float32[N, symbols], of those that have stopped; states: of the member's decoder, N rows each.
    """

    frame: NDArray[np.int32]
    labels: NDArray[np.int32]
    stopped: NDArray[np.bool_]
    log_probs: NDArray[np.float32]
    states: States

    def seeking(self, states: States) -> "_Heads":
        """Return heads at the same frames that seek another label, by new states of the member's decoder."""
        return replace(self, stopped=np.zeros_like(self.stopped), states=states)

    def look(self, member: MonotonicDecoder, heard: Heard) -> None:
        """Let those that have not stopped look at the frames up to the last; where all is over, they stop behind it."""
        first = heard.count - len(heard.frames)
        begin = max(first, heard.count - _BEHIND)
        for number in range(max(begin, self._least()), heard.count):
            frames = heard.frames[max(0, number + 1 - first - member.window) : number + 1 - first]
            self._offer(member, Heard(frames, number + 1, over=False), number)
        if heard.over:
            self._offer(member, Heard(heard.frames[-member.window :], heard.count, over=True), heard.count)

    def _least(self) -> int:
        """Return the first frame that any has not looked at."""
        seeking = self.frame[~self.stopped]
        return int(seeking.min(initial=np.iinfo(np.int32).max))

    def _offer(self, member: MonotonicDecoder, heard: Heard, number: int) -> None:
        """Offer a frame, or the end behind the last, to those that have come to it.

        It moves those on that do not attend, or have attended to it too often.
        """
        rows = np.flatnonzero(~self.stopped & (heard.over | (self.frame <= number)))
        if not len(rows):
            return
        attends, log_probs, after = member.look(heard, tuple(state[rows] for state in self.states))
        for state, new in zip(self.states, after, strict=True):
            state[rows] = new
        labels = np.where(self.frame[rows] == number, self.labels[rows], 0) + attends
        moves = ~attends | (labels == LABELS_A_FRAME)
        self.frame[rows] = number + moves
        self.labels[rows] = np.where(moves, 0, labels)
        self.stopped[rows] = attends
        self.log_probs[rows[attends]] = log_probs[attends]


class MeanMonotonicDecoder:
    """See `MonotonicDecoder`. Encoded frames are [..., sizes[0] + sizes[1] + …], the members' side by side.

    symbols: how many the members have, the same ones, the end among them. joint_ctc: whether all have log-probabilities
    by frame.
    """

    def __init__(
        self, members: Sequence[MonotonicDecoder], sizes: Sequence[int], symbols: int, *, joint_ctc: bool
    ) -> None:
        self._members = members
        self._symbols = symbols
        self._columns = _slices(sizes)
        self.window = _BEHIND + max(member.window for member in members) - 1
        self.joint_ctc = joint_ctc
        self._parts = _slices([_OWN + len(member.begin()) for member in members])

    def begin(self) -> States:
        """See `MonotonicDecoder`."""
        first, none = np.zeros(1, np.int32), np.zeros((1, self._symbols), np.float32)
        return _joined([_Heads(first, first, first > 0, none, member.begin()) for member in self._members])

    def seek(self, before: NDArray[np.int32], states: States) -> States:
        """See `MonotonicDecoder`."""
        heads = zip(self._members, self._heads(states), strict=True)
        return _joined([of.seeking(member.seek(before, of.states)) for member, of in heads])

    def look(self, heard: Heard, states: States) -> tuple[NDArray[np.bool_], NDArray[np.float32], States]:
        """See `MonotonicDecoder`."""
        heads = self._heads(tuple(state.copy() for state in states))
        for member, columns, of in zip(self._members, self._columns, heads, strict=True):
            of.look(member, replace(heard, frames=heard.frames[:, columns]))
        attends: NDArray[np.bool_] = np.all([of.stopped for of in heads], axis=0)
        return attends, log_mean([of.log_probs for of in heads]), _joined(heads)

    def frame_log_probs(self, encoded: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """See `LabelDecoder`."""
        by_member = [
            member.frame_log_probs([frames[:, columns] for frames in encoded])
            for member, columns in zip(self._members, self._columns, strict=True)
        ]
        return [log_mean(of_utterance) for of_utterance in zip(*by_member, strict=True)]

    def _heads(self, states: States) -> list[_Heads]:
        """Return the heads of each member, of the arrays that `_joined` made."""
        heads = []
        for part in self._parts:
            frame, labels, stopped, log_probs, *own = states[part]
            heads.append(_Heads(frame, labels, stopped, log_probs, tuple(own)))
        return heads


def _joined(heads: Sequence[_Heads]) -> States:
    return tuple(array for of in heads for array in (of.frame, of.labels, of.stopped, of.log_probs, *of.states))


def _slices(sizes: Sequence[int]) -> list[slice]:
    return [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))]
