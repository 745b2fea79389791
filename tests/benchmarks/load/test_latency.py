import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.load.latency import histogram, percentile, percentiles

VALUES = st.lists(st.floats(0.0, 100.0), min_size=1, max_size=200)


@given(VALUES, st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_the_least_value_that_enough_do_not_exceed(values, share):
    found = percentile(values, share)
    enough = [value for value in values if sum(other <= value for other in values) >= share * len(values) - 1e-6]
    assert found == min(enough)


def test_one_late_result_of_twenty_is_beyond_p95_and_two_are_not():
    assert percentile([0.1] * 19 + [9.0], 0.95) == 0.1
    assert percentile([0.1] * 18 + [9.0] * 2, 0.95) == 9.0
    assert percentiles([0.1] * 19 + [9.0]) == pytest.approx({"p50": 100, "p95": 100, "p99": 9000, "max": 9000})


def test_without_values_there_is_no_percentile():
    assert math.isnan(percentile([], 0.95))
    assert percentiles([]) == {}


@given(VALUES)
def test_a_histogram_counts_all_each_within_6_percent(values):
    buckets = histogram(values)
    assert sum(count for _, count in buckets) == len(values)
    bounds = [bound for bound, _ in buckets]
    assert bounds == sorted(set(bounds))
    counted = [bound for bound, count in buckets for _ in range(count)]
    for value, bound in zip(sorted(values), counted, strict=True):
        assert max(1000 * value, 0.1) <= bound * (1 + 1e-9)
        assert bound <= max(1000 * value, 0.1) * 10 ** (1 / 40) * (1 + 1e-9)
