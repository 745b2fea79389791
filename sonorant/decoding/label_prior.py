"""Context-free prior of labels: what a model has learnt of its training's transcripts, to be subtracted in fusion."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["label_prior"]


def label_prior(transcripts: Iterable[Sequence[int]], units: int) -> NDArray[np.float64]:
    """Return log P(y), Float64[units + 1], of units and end (Kim 2019, Eq. 3).

    transcripts: numbers of the units of each; every transcript has one end. Counts are smoothed by one (Laplace), so
    that a unit without any example has a prior too.
    """
    counts = np.ones(units + 1)
    for labels in transcripts:
        np.add.at(counts, [*labels, units], 1)
    prior: NDArray[np.float64] = np.log(counts / counts.sum())
    return prior
