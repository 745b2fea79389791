"""What searches by label have in common: labels that hypotheses share, and the highest of many scores."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Labels", "highest", "spelt"]

# Labels of a hypothesis, last first: (labels before, label, encoded frame that it attends to); None: none.
Labels: TypeAlias = "tuple[Labels, int, int] | None"


def spelt(labels: Labels) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return labels and their frames, first to last."""
    backwards: list[tuple[int, int]] = []
    while labels is not None:
        labels, label, frame = labels
        backwards.append((label, frame))
    return tuple(label for label, _ in reversed(backwards)), tuple(frame for _, frame in reversed(backwards))


def highest(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` highest of each row [..., n], highest first.

    Equal ones are in their order; which of those that equal the last are among them is arbitrary, yet the row's alone.
    """
    if scores.shape[-1] > 4 * count:  # a partition of all is cheaper than to sort them
        among = np.sort(np.argpartition(-scores, count, -1)[..., :count], -1)
        order = np.argsort(-np.take_along_axis(scores, among, -1), -1, kind="stable")
        return np.take_along_axis(among, order, -1)
    return np.argsort(-scores, -1, kind="stable")[..., :count]
