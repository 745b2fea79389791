import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.tuning.direct_search import hypercube, minimise
from sonorant.tuning.weights import Range

BOXES = st.lists(st.sampled_from([Range(0, 3), Range(-2, 4), Range(0, 0.9), Range(-100, -20)]), min_size=1, max_size=4)
seeds = st.integers(0, 1000)


class Bowl:
    """Squared distance from a point in sides of the box, along axes that are not the box's; counted by evaluation."""

    def __init__(self, box, seed):
        rng = np.random.default_rng([seed, 1])
        self.low, self.high = np.array(box).T
        self.center = rng.random(len(box))
        self.turn = np.linalg.qr(rng.standard_normal((len(box), len(box))))[0]
        self.stretch = np.geomspace(1, 10, len(box))
        self.seen = []

    def __call__(self, points):
        self.seen += points
        return [self.value(point) for point in points]

    def value(self, point):
        share = (np.array(point) - self.low) / (self.high - self.low) - self.center
        return float(np.sum((self.stretch * (self.turn @ share)) ** 2))


@given(BOXES, seeds, st.integers(1, 80))
@settings(max_examples=60)
def test_the_best_of_distinct_points_within_the_box_and_the_budget_is_returned(box, seed, trials):
    bowl, start = Bowl(box, seed), tuple(side.high + 1 for side in box)
    best = minimise(bowl, box, start, trials, np.random.default_rng(seed))
    assert bowl.seen[0] == start
    assert len(set(bowl.seen)) == len(bowl.seen) <= trials
    assert all(side.low <= x <= side.high for point in bowl.seen[1:] for x, side in zip(point, box, strict=True))
    assert bowl.value(best) == min(map(bowl.value, bowl.seen))


@given(BOXES, seeds)
@settings(max_examples=30)
def test_a_seed_determines_the_points(box, seed):
    start = tuple(side.low for side in box)
    runs = [Bowl(box, seed) for _ in range(2)]
    best = [minimise(bowl, box, start, 40, np.random.default_rng(seed)) for bowl in runs]
    assert (best[0], runs[0].seen) == (best[1], runs[1].seen)
    other = Bowl(box, seed)
    minimise(other, box, start, 40, np.random.default_rng(seed + 1))
    assert other.seen != runs[0].seen


def test_it_comes_nearer_to_the_minimum_than_as_many_random_points():
    box = (Range(0, 3), Range(-2, 4))
    found, random = [], []
    for seed in range(20):
        bowl, rng = Bowl(box, seed), np.random.default_rng(seed)
        found.append(bowl.value(minimise(bowl, box, (0.0, 0.0), 60, rng)))
        random.append(min(bowl.value((rng.uniform(0, 3), rng.uniform(-2, 4))) for _ in range(60)))
    assert np.mean(found) < 0.4 * np.mean(random)


def test_of_equal_points_the_nearest_to_the_start_is_best():
    box = (Range(0, 1), Range(0, 100))
    seen = []

    def evaluate(points):
        seen.extend(points)
        return [0.0 if point[0] > 0.3 else 1.0 for point in points]

    start = (0.1, 50.0)
    best = minimise(evaluate, box, start, 50, np.random.default_rng(3))
    good = [point for point in seen if point[0] > 0.3]
    assert best == min(good, key=lambda point: math.hypot(point[0] - 0.1, (point[1] - 50) / 100))
    assert minimise(lambda points: [7.0] * len(points), box, start, 50, np.random.default_rng(3)) == start


@given(BOXES, seeds, st.integers(1, 50))
@settings(max_examples=40)
def test_a_hypercube_has_one_point_in_each_interval_of_each_dimension(box, seed, count):
    points = hypercube(box, count, np.random.default_rng(seed))
    for axis, side in enumerate(box):
        shares = sorted((point[axis] - side.low) / (side.high - side.low) for point in points)
        slack = 0.006  # of rounding
        assert all(i / count - slack <= share <= (i + 1) / count + slack for i, share in enumerate(shares))


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_few_trials_begin_with_the_start(trials):
    seen = []

    def evaluate(points):
        seen.extend(points)
        return itertools.repeat(0.0, len(points))

    assert minimise(evaluate, (Range(0, 1),), (0.5,), trials, np.random.default_rng(0)) == (0.5,)
    assert (seen[0], len(seen)) == ((0.5,), trials)
