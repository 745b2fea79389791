"""Exported models in place of TensorFlow's graphs, compiled from `kernels.cpp` and the headers beside it."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

VARIANT: Final[str]
"""What the loader picked, as of `sonorant.audio.kernels`."""

class Convolution2d:
    """Convolutions over frames and mel bins of stacked vectors, and a linear projection; immutable."""

    def __init__(
        self,
        bins: int,
        frames: int,
        layers: Sequence[tuple[int, int, int, tuple[NDArray[np.float32], NDArray[np.float32]]]],
        projection: tuple[NDArray[np.float32], NDArray[np.float32]],
    ) -> None:
        """bins: of a vector of so many frames. layers: frames, stride and pool of each, and its filters.

        A window spans `frames` frames and some bins, of all channels; windows move by `stride` frames and by 1 bin,
        without padding. A filter's products with `pool` windows, bin by bin, have one maximum; those that do not fill a
        pool have none. A bias and a rectifier follow.

        Filters: kernel [values of a window, filters] and bias [filters]; projection: weight [values of the last layer,
        size] and bias. Values are ordered by bin, those of a bin by frame, those of a frame by channel; but vectors are
        by frame. Raises ValueError if sizes do not fit.
        """

class FrequencyConvolution(Convolution2d):
    """The layers of `sonorant.models.frequency_convolution`; immutable."""

    def __init__(
        self,
        bins: int,
        frames: int,
        pool: int,
        first: tuple[NDArray[np.float32], NDArray[np.float32]],
        second: tuple[NDArray[np.float32], NDArray[np.float32]],
        projection: tuple[NDArray[np.float32], NDArray[np.float32]],
    ) -> None:
        """bins: of a vector of so many frames. pool: positions of the first filters that have one maximum.

        first, second: kernel [values of a window, filters] and bias of the filters; projection: weight [positions
        filters, size] and bias. Raises ValueError if sizes do not fit.
        """

class LstmStack:
    """LSTM layers between an input normalisation and a projection; immutable, so threads may share it."""

    def __init__(
        self,
        mean: NDArray[np.float32],
        deviation: NDArray[np.float32],
        level: NDArray[np.float32],
        running_mean: NDArray[np.float32],
        convolution: Convolution2d | None,
        layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
        projection: tuple[NDArray[np.float32], NDArray[np.float32]],
    ) -> None:
        """mean, deviation: Float32[bins]. level, running_mean: `constants` of these layers of the model, or empty.

        convolution: of what comes of them. layers: weight [inputs + cells, 4 cells] and bias of each, as of
        `sonorant.models.lstm.Lstm`; projection: weight [cells, symbols] and bias. Raises ValueError if sizes do not
        fit.
        """

    def advance(
        self,
        features: NDArray[np.float32],
        lengths: NDArray[np.int32],
        states: NDArray[np.float32],
        log_probs: NDArray[np.float32],
    ) -> None:
        """Overwrite log_probs [vectors, symbols] by those of features [vectors, bins], without the GIL.

        They are the vectors of one stream after the other, `lengths` Int32[streams] of each, which may be 0. states:
        [streams, numbers], which are overwritten by those after. All must be contiguous; raises ValueError if sizes do
        not fit.
        """
