"""Frame targets from known word times: a start for CTC, which alone may stay long with nothing but blanks.

A plain CTC loss leaves its plateau only after hundreds of steps on augmented speech. While its weight lasts, a
cross-entropy per frame says where each word ends; that also keeps the words from being written late.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sonorant.arrays import IntArray
from sonorant.pipeline.example import WordSpan
from sonorant.recipe.signal import FeaturesRecipe

__all__ = ["UNKNOWN", "frame_targets"]

UNKNOWN = -1

_BEFORE_END_S, _AFTER_END_S = 0.09, 0.05


def frame_targets(
    words: Sequence[WordSpan], units: Mapping[str, int], blank: int, frames: int, recipe: FeaturesRecipe
) -> IntArray:
    """Return Int64[frames]: the word's unit around the word's end, the blank elsewhere; `UNKNOWN` without any times.

    units: the number of each word. A stacked vector belongs to the time at which its last window ends, for not
    before that time is it known.
    """
    known = [span for span in words if span.word in units]
    if not known or len(known) < len(words):
        return np.full(frames, UNKNOWN)
    hop_s = recipe.hop_ms / 1000
    known_s = np.arange(frames) * recipe.stride * hop_s + (recipe.stack - 1) * hop_s + recipe.window_ms / 1000
    targets = np.full(frames, blank)
    for span in known:
        targets[(known_s > span.end_s - _BEFORE_END_S) & (known_s < span.end_s + _AFTER_END_S)] = units[span.word]
    return targets
