import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.capacity.sizing import Bounds, StageCost, size

CHAIN = [StageCost("reader", 0.002), StageCost("vtlp", 0.02), StageCost("room", 0.1)]


def test_each_stage_gets_what_the_rate_costs_it_at_the_utilisation():
    sizing = size(CHAIN, rate=100, utilisation=0.8)
    assert sizing.replicas == {"reader": 1, "vtlp": 3, "room": 13}  # 0.25, 2.5 and 12.5 busy replicas
    assert sizing.rate == 100
    assert not sizing.limits


def test_a_whole_number_of_busy_replicas_is_not_rounded_up_by_the_arithmetic():
    assert size([StageCost("room", 0.1)], rate=3 * 0.8 * 10, utilisation=0.8).replicas == {"room": 3}


def test_stages_before_a_rejection_make_up_for_it():
    chain = [StageCost("reader", 0.1), StageCost("vtlp", 0.1, output_ratio=0.5), StageCost("room", 0.1)]
    assert size(chain, rate=10, utilisation=1.0).replicas == {"reader": 2, "vtlp": 1, "room": 1}


def test_one_bounded_stage_says_so_and_the_others_are_no_larger_than_it_can_feed():
    chain = [StageCost("reader", 0.1), StageCost("room", 1.0, bounds=Bounds(most=4))]
    sizing = size(chain, rate=40, utilisation=0.8)
    assert sizing.replicas == {"reader": 1, "room": 4}
    assert sizing.rate == 4.0
    assert sizing.limits == ("room: 50 replicas are needed, 4 allowed; they hand on 4 of 40 examples/s",)


def test_scarce_cores_are_shared_so_that_no_other_sharing_is_faster():
    sizing = size(CHAIN, rate=1000, utilisation=0.8, cores=20)
    best = max(
        min(reader / 0.002, vtlp / 0.02, (20 - reader - vtlp) / 0.1) for reader in range(1, 19) for vtlp in range(1, 19)
    )
    assert sizing.rate == pytest.approx(best)
    assert sum(sizing.replicas.values()) <= 20
    assert "153 cores are needed, 20 allowed" in sizing.limits[-1]


def test_the_least_replicas_go_before_cores():
    chain = [StageCost("reader", 0.1, bounds=Bounds(least=3)), StageCost("room", 0.1)]
    assert size(chain, rate=100, utilisation=0.8, cores=2).replicas == {"reader": 3, "room": 1}


@pytest.mark.parametrize(("least", "most"), [(0, 3), (-1, 3), (4, 3)])
def test_bounds_that_leave_nothing_are_refused(least, most):
    with pytest.raises(ValueError, match=f"least={least}, most={most}"):
        Bounds(least, most)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(1e-4, 10), st.floats(0.1, 1), st.integers(1, 50)), min_size=1, max_size=6),
    st.floats(0.01, 1e4),
    st.floats(1, 500),
)
def test_the_rate_that_is_promised_is_what_the_slowest_stage_can_do(stages, rate, cores):
    costs = [StageCost(f"s{n}", s, ratio, Bounds(1, most)) for n, (s, ratio, most) in enumerate(stages)]
    sizing = size(costs, rate, utilisation=0.8, cores=max(cores, len(costs)))
    later = np.cumprod([1.0, *(c.output_ratio for c in costs[:0:-1])])[::-1]
    capacity = [sizing.replicas[c.stage] / c.service_s * share for c, share in zip(costs, later, strict=True)]
    assert sizing.rate == pytest.approx(min(rate, *capacity, math.inf))
    assert bool(sizing.limits) or sizing.rate == pytest.approx(rate)
    assert sum(sizing.replicas.values()) <= max(cores, len(costs)) + 1e-6
    assert all(1 <= sizing.replicas[c.stage] <= c.bounds.most for c in costs)
