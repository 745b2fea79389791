"""Minimisation without derivatives, in a box: a Latin hypercube, then direct search from its best point.

Error counts are piecewise constant and noisy, so nothing is fitted. The hypercube (McKay, Beckman and Conover 1979)
covers the box with few points in any number of dimensions, where a grid would need a power of them. Direct search
(Kolda, Lewis and Torczon 2003, "Optimization by Direct Search") refines: it polls both neighbours of the best point in
each direction of a basis, moves to the best of them, and halves the distance where none is better. Each poll has
another random orthonormal basis (as in Audet and Dennis 2006, "Mesh adaptive direct search"), because weights trade
against each other, in valleys that are not parallel to any axis: of 63 errors in 40 made-up utterances 2.0 were left
after 60 trials as the mean of 20 seeds, 3.0 with the axes as basis. The points of a poll can be evaluated in parallel.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from sonorant.tuning.weights import Range

__all__ = ["Point", "best_of", "minimise"]

Point: TypeAlias = tuple[float, ...]

_FIRST_STEP, _LAST_STEP = 1 / 4, 1 / 64  # of a side of the box


def minimise(
    evaluate: Callable[[Sequence[Point]], Sequence[float]],
    box: Sequence[Range],
    start: Point,
    trials: int,
    rng: np.random.Generator,
) -> Point:
    """Return the best of at most `trials` points, among which is `start` (see `best_of`).

    evaluate: values of points, which lie in the box, but for the start. The first half of the trials is the hypercube.
    """
    values: dict[Point, float] = {}

    def take(points: Sequence[Point]) -> Point:
        new = [point for point in dict.fromkeys(points) if point not in values][: trials - len(values)]
        values.update(zip(new, evaluate(new), strict=True))
        return best_of(values, box, start)

    best = take([start, *hypercube(box, max(1, trials // 2 - 1), rng)])
    step = _FIRST_STEP
    while len(values) < trials and step >= _LAST_STEP:
        before = values[best]
        best = take(_poll(best, box, step, rng))
        if values[best] == before:
            step /= 2
    return best


def best_of(values: Mapping[Point, float], box: Sequence[Range], start: Point) -> Point:
    """Return the point with the least value; of equal ones that nearest to `start`, in sides of the box."""
    return min(values, key=lambda point: (values[point], _distance(point, start, box)))


def hypercube(box: Sequence[Range], count: int, rng: np.random.Generator) -> list[Point]:
    """Return a Latin hypercube sample: in each dimension one point in each of `count` equal intervals."""
    shares = np.stack([(rng.permutation(count) + rng.random(count)) / count for _ in box], axis=1)
    low, high = np.array(box).T
    return [_rounded(tuple(point), box) for point in (low + shares * (high - low)).tolist()]


def _poll(center: Point, box: Sequence[Range], step: float, rng: np.random.Generator) -> list[Point]:
    """Return the neighbours of a point at a distance of `step` sides, moved into the box where they leave it."""
    basis, _ = np.linalg.qr(rng.standard_normal((len(box), len(box))))
    low, high = np.array(box).T
    moves = step * (high - low) * np.concatenate([basis, -basis])
    return [_rounded(tuple(point), box) for point in np.clip(np.array(center) + moves, low, high).tolist()]


def _rounded(point: Point, box: Sequence[Range]) -> Point:
    """Return a point in the box with hundreds of values a side, so that people can read them."""
    digits = [2 - math.floor(math.log10(side.high - side.low)) for side in box]
    return tuple(
        min(side.high, max(side.low, round(value, places)))
        for value, side, places in zip(point, box, digits, strict=True)
    )


def _distance(point: Point, other: Point, box: Sequence[Range]) -> float:
    return math.hypot(*((a - b) / (side.high - side.low) for a, b, side in zip(point, other, box, strict=True)))
