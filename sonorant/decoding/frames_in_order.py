"""Frames of labels from peaks of attention, of which some are astray: an alignment never goes back."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

__all__ = ["in_order"]


def in_order(peaks: Sequence[int]) -> list[int]:
    """Return a frame for each label, never earlier than that of the label before.

    Peaks of the longest subsequence that does not decrease (Schensted 1961) stay; the others, outliers, come evenly
    between their neighbours there, and at an end to the nearest.
    """
    if not peaks:
        return []
    kept = _longest(peaks)
    return [round(frame) for frame in np.interp(range(len(peaks)), kept, [peaks[i] for i in kept]).tolist()]


def _longest(peaks: Sequence[int]) -> list[int]:
    """Return the indices of a longest subsequence that does not decrease."""
    ends: list[int] = []  # the least last peak of a subsequence of each length, and below its index
    at: list[int] = []
    before: list[int] = []
    for index, peak in enumerate(peaks):
        length = bisect_right(ends, peak)
        ends[length:] = [peak, *ends[length + 1 :]]
        at[length:] = [index, *at[length + 1 :]]
        before.append(at[length - 1] if length else -1)
    found = []
    index = at[-1] if at else -1
    while index >= 0:
        found.append(index)
        index = before[index]
    return found[::-1]
