"""The cheapest search of each kind, for evaluations on dev during training."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding import best_path
from sonorant.models.batch_frames import batch_frames
from sonorant.models.batch_search import batch_search
from sonorant.models.family import Model
from sonorant.models.label_synchronous import LabelSynchronous

__all__ = ["greedy"]

Greedy: TypeAlias = Callable[[NDArray[np.float32], NDArray[np.int32]], list[Sequence[int]]]


def greedy(model: Model, end_threshold: float | None = None) -> Greedy:
    """Return a function of features Float32[B, T, bins] and lengths Int32[B]: the units of each utterance.

    By frame: the most probable alignment. By label: a beam of one, with `decoding.end_threshold`.
    """
    return _by_label(model, end_threshold) if isinstance(model, LabelSynchronous) else _by_frame(model)


def _by_frame(model: Model) -> Greedy:
    frames_of = batch_frames(model)
    return lambda features, lengths: [best_path(frames) for frames in frames_of(features, lengths)]


def _by_label(model: LabelSynchronous, end_threshold: float | None) -> Greedy:
    search = batch_search(model, 1, end_threshold)
    return lambda features, lengths: [ended[0].labels if ended else () for ended in search(features, lengths)]
