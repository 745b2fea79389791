"""Frame targets from known word times: a start for CTC, which alone may long output only blanks.

A plain CTC loss leaves its plateau only after hundreds of steps on augmented speech. While its weight lasts, a
cross-entropy per frame marks the end of each unit; that also limits the delay of words.
"""

from collections.abc import Sequence

import numpy as np

from sonorant.arrays import IntArray
from sonorant.delivery.example import WordSpan
from sonorant.features.section import FeaturesRecipe
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["UNKNOWN", "alignment_loss", "alignment_weight", "frame_targets"]

UNKNOWN = -1

_BEFORE_END_S, _AFTER_END_S = 0.09, 0.05
# The same as shares of a part of a word, where parts are shorter: between two equal units stays a blank.
_BEFORE_END, _AFTER_END = 0.35, 0.2


def frame_targets(
    words: Sequence[WordSpan], labels: Sequence[int], units: Units, vectors: IntArray, recipe: FeaturesRecipe
) -> IntArray:
    """Return Int64[frames]: a unit around its end, the blank elsewhere; `UNKNOWN` without the times of all words.

    A word's units have equal parts of its time. labels: the numbers of the units that spell the words. vectors:
    Int64[frames], the vector that each frame stands for. A stacked vector belongs to the time at which its last window
    ends, as it is not available before.
    """
    spelt = _by_word(labels, units)
    if not words or len(words) != len(spelt):
        return np.full(len(vectors), UNKNOWN)
    hop_s = recipe.hop_ms / 1000
    known_s = vectors * recipe.stride * hop_s + (recipe.stack - 1) * hop_s + recipe.window_ms / 1000
    targets = np.full(len(vectors), units.blank)
    for span, word in zip(words, spelt, strict=True):
        part_s = (span.end_s - span.start_s) / len(word)
        before_s, after_s = _BEFORE_END_S, _AFTER_END_S
        if len(word) > 1:
            before_s, after_s = min(before_s, _BEFORE_END * part_s), min(after_s, _AFTER_END * part_s)
        for i, unit in enumerate(word, 1):
            end_s = span.start_s + i * part_s
            targets[(known_s > end_s - before_s) & (known_s < end_s + after_s)] = unit
    return targets


def _by_word(labels: Sequence[int], units: Units) -> list[list[int]]:
    words: list[list[int]] = []
    for label in labels:
        if not words or units.starts_word(label):
            words.append([])
        words[-1].append(label)
    return words


def alignment_loss(log_probs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return Float32[B]: minus the log-probability of the target of each frame, summed over frames that have one.

    log_probs: [B, T, units + 1]; targets: Int32[B, T], negative where there is none.
    """
    chosen = tf.gather(log_probs, tf.maximum(targets, 0), batch_dims=2)
    return -tf.reduce_sum(tf.where(targets >= 0, chosen, 0.0), axis=1)


def alignment_weight(step: int, recipe: TrainingRecipe) -> float:
    """Return the weight of the alignment loss at step 0, 1, …: it falls linearly to 0."""
    return recipe.alignment_weight * max(0.0, 1 - step / recipe.alignment_steps)
