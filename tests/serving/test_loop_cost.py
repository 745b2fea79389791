import pytest

from sonorant.serving.loop_cost import LoopCost


def heard(cost, rate, now_s, seconds, spent_s=0.0):
    for number in range(1, 100 * seconds + 1):
        cost.heard(now_s + 0.01 * number, 0.5, spent_s + rate * 0.5 * number)
    return now_s + seconds


def test_the_recent_mean_counts():
    cost = LoopCost()
    cost.heard(0.0, 0.1, 7.0)  # what was spent before the first audio is nobody's
    now_s = heard(cost, 0.002, 0.0, 10, spent_s=7.0)
    assert cost.rate(now_s) == pytest.approx(0.002, rel=0.05)
    now_s = heard(cost, 0.005, now_s, 30, spent_s=8.0)
    assert cost.rate(now_s) == pytest.approx(0.005, rel=0.05)


def test_what_was_used_in_hours_without_live_audio_is_not_charged_to_the_next_message():
    cost = LoopCost()
    now_s = heard(cost, 0.002, 0.0, 10)
    cost.heard(now_s + 86_400.0, 0.1, 10_000.0)
    assert cost.rate(now_s + 86_400.0) < 3 * 10_000 * 5 / 86_400 / 10
    cost = LoopCost()
    cost.heard(0.0, 0.1, 0.0)
    cost.heard(86_400.0, 0.1, 17.0)  # polls and health checks of a day
    assert cost.rate(86_400.0) < 1.1 * LoopCost().rate(0.0)


def test_without_traffic_it_is_what_it_was_before_any():
    cost = LoopCost()
    before = cost.rate(0.0)
    now_s = heard(cost, 1.0, 0.0, 10)
    assert cost.rate(now_s) > 100 * before
    assert cost.rate(now_s + 120.0) == pytest.approx(before)


def test_the_share_of_a_processor_is_that_of_the_last_seconds():
    cost = LoopCost()
    assert cost.busy(0.0) == 0
    now_s = heard(cost, 0.004, 0.0, 30)  # of 50 seconds of audio a second
    assert cost.busy(now_s) == pytest.approx(0.2, rel=0.05)
    assert cost.busy(now_s + 120.0) == pytest.approx(0.0, abs=1e-6)
    assert cost.busy(heard(cost, 1.0, now_s, 30, spent_s=6.0)) == 1
