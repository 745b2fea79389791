import numpy as np
import pytest

from sonorant.serving.round_cost import RoundCost


def fed(cost, overhead_s, rate, sizes, start_s=0.0, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    now_s = start_s
    for jobs in sizes:
        took_s = (overhead_s + rate * 0.1 * jobs) * (1 + noise * rng.standard_normal())
        now_s += 0.01
        cost.measured(now_s, jobs, 0.1 * jobs, took_s)
    return now_s


def test_rounds_of_all_sizes_tell_overhead_and_rate():
    cost = RoundCost()
    now_s = fed(cost, 0.005, 0.003, np.random.default_rng(1).integers(1, 33, 2000), noise=0.05)
    fit = cost.fit(now_s)
    assert fit.overhead_s == pytest.approx(0.005, rel=0.2)
    assert fit.rate == pytest.approx(0.003, rel=0.15)
    assert fit.jobs == pytest.approx(10)


def test_a_fit_is_that_of_weighted_least_squares():
    cost = RoundCost()
    rng = np.random.default_rng(2)
    times, sizes = np.cumsum(rng.uniform(0.005, 0.05, 500)), rng.integers(1, 20, 500)
    took = 0.004 + 0.0005 * sizes * rng.uniform(0.8, 1.2, 500)
    for at, jobs, seconds in zip(times, sizes, took, strict=True):
        cost.measured(at, int(jobs), 0.1 * jobs, seconds)
    root = np.sqrt(np.exp((times - times[-1]) / 5.0))
    rows = np.stack([np.ones(500), 0.1 * sizes], axis=1) * root[:, None]
    overhead_s, rate = np.linalg.lstsq(rows, took * root, rcond=None)[0]
    fit = cost.fit(times[-1])
    for jobs in (1, 10, 20):
        assert fit.round_s(0.1 * jobs) == pytest.approx(overhead_s + rate * 0.1 * jobs, rel=0.1)


def test_as_long_as_rounds_are_alike_all_of_their_time_counts_for_the_audio():
    cost = RoundCost()
    fit = cost.fit(fed(cost, 0.005, 0.003, [1] * 1000))
    assert fit.overhead_s < 0.0005
    assert fit.rate == pytest.approx(0.053, rel=0.1)  # 5.3 ms for 0.1 s


def test_without_traffic_the_calibration_is_remembered():
    cost = RoundCost()
    fed(cost, 0.005, 0.003, [1, 8, 32] * 5)
    cost.settle()
    known = cost.fit(1.0)
    now_s = fed(cost, 0.05, 0.03, [1, 4, 8] * 200, start_s=1.0)
    assert cost.fit(now_s).round_s(1.0) > 5 * known.round_s(1.0)
    assert cost.fit(now_s + 100.0) == pytest.approx(known)


def test_one_pause_of_the_machine_is_not_taken_for_the_cost_of_audio():
    cost = RoundCost()
    now_s = fed(cost, 0.005, 0.003, [1, 8, 16] * 100)
    before = cost.fit(now_s)
    cost.measured(now_s + 0.01, 1, 0.1, 3.0)
    assert cost.fit(now_s + 0.01).round_s(1.0) < 1.3 * before.round_s(1.0)


def test_work_without_audio_of_its_own_is_shared_out_among_the_audio():
    cost = RoundCost()
    now_s = 0.0
    for _ in range(100):
        for _ in range(20):
            now_s += 0.001
            cost.measured(now_s, 1, 0.1, 0.0001)
        now_s += 0.2
        cost.measured(now_s, 1, 0.0, 0.2)  # the end of an utterance of 2 s
    assert cost.fit(now_s).rate == pytest.approx(0.1, rel=0.1)
