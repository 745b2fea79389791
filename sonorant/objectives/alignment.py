"""Frame targets from known word times: a start for CTC, which alone may long output only blanks.

A plain CTC loss leaves its plateau only after hundreds of steps on augmented speech. While its weight lasts, a
cross-entropy per frame marks the end of each word; that also limits the delay of words.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sonorant.arrays import IntArray
from sonorant.delivery.example import WordSpan
from sonorant.features.section import FeaturesRecipe
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf

__all__ = ["UNKNOWN", "alignment_loss", "alignment_weight", "frame_targets"]

UNKNOWN = -1

_BEFORE_END_S, _AFTER_END_S = 0.09, 0.05


def frame_targets(
    words: Sequence[WordSpan], units: Mapping[str, int], blank: int, vectors: IntArray, recipe: FeaturesRecipe
) -> IntArray:
    """Return Int64[frames]: the word's unit around the word's end, the blank elsewhere; `UNKNOWN` without any times.

    units: the number of each word; vectors: Int64[frames], the vector that each frame stands for. A stacked vector
    belongs to the time at which its last window ends, as it is not available before.
    """
    known = [span for span in words if span.word in units]
    if not known or len(known) < len(words):
        return np.full(len(vectors), UNKNOWN)
    hop_s = recipe.hop_ms / 1000
    known_s = vectors * recipe.stride * hop_s + (recipe.stack - 1) * hop_s + recipe.window_ms / 1000
    targets = np.full(len(vectors), blank)
    for span in known:
        targets[(known_s > span.end_s - _BEFORE_END_S) & (known_s < span.end_s + _AFTER_END_S)] = units[span.word]
    return targets


def alignment_loss(log_probs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return Float32[B]: minus the log-probability of the target of each frame, summed over frames that have one.

    log_probs: [B, T, units + 1]; targets: Int32[B, T], negative where there is none.
    """
    chosen = tf.gather(log_probs, tf.maximum(targets, 0), batch_dims=2)
    return -tf.reduce_sum(tf.where(targets >= 0, chosen, 0.0), axis=1)


def alignment_weight(step: int, recipe: TrainingRecipe) -> float:
    """Return the weight of the alignment loss at step 0, 1, …: it falls linearly to 0."""
    return recipe.alignment_weight * max(0.0, 1 - step / recipe.alignment_steps)
