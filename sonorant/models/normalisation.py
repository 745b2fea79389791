"""Normalisation of features: mean and standard deviation of each bin, stored with the weights."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.tensorflow import keras, tf

__all__ = ["FeatureMoments", "Normalisation"]

_SMALLEST_DEVIATION = 1e-3  # a constant bin must not be amplified


@dataclass(frozen=True)
class FeatureMoments:
    """Sums over vectors; those of disjoint sets of examples add up.

    count: number of vectors. total, squares: Float64[bins], sums of the values and of their squares.
    """

    count: float
    total: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, features: list[Features], bins: int) -> "FeatureMoments":
        """Sum over all vectors of `features`, each Float32[frames, bins]."""
        total, squares, count = np.zeros(bins), np.zeros(bins), 0
        for vectors in features:
            total += vectors.sum(axis=0, dtype=np.float64)
            squares += np.square(vectors, dtype=np.float64).sum(axis=0)
            count += len(vectors)
        return cls(count, total, squares)

    def __add__(self, other: "FeatureMoments") -> "FeatureMoments":
        return FeatureMoments(self.count + other.count, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Float64[bins]."""
        return self.total / max(self.count, 1)

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Float64[bins], never below a thousandth."""
        variance = np.maximum(self.squares / max(self.count, 1) - self.mean**2, 0)
        deviation: NDArray[np.float64] = np.maximum(np.sqrt(variance), _SMALLEST_DEVIATION)
        return deviation


class Normalisation(keras.layers.Layer):
    """Subtracts the mean and divides by the deviation of each bin; neither is trained."""

    def __init__(self, bins: int, name: str = "normalisation") -> None:
        super().__init__(name=name)
        self.mean = self.add_weight(shape=(bins,), initializer="zeros", trainable=False, name="mean")
        self.deviation = self.add_weight(shape=(bins,), initializer="ones", trainable=False, name="deviation")
        self.built = True

    def set_from(self, moments: FeatureMoments) -> None:
        """Set mean and deviation; without any vector nothing changes."""
        if moments.count:
            self.mean.assign(moments.mean)
            self.deviation.assign(moments.deviation)

    def call(self, features: tf.Tensor) -> tf.Tensor:
        """Return `features` [..., bins], normalised."""
        return (features - self.mean.value) / self.deviation.value
