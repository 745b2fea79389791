import pytest

from sonorant.capacity.measurements import Counters, Measurements, Snapshot


def _snapshot(room, ranks=None, rejected=0):
    counters = {name: Counters(*pair) for name, pair in room.items()}
    gang = {name: Counters(*pair) for name, pair in (ranks or {}).items()}
    return Snapshot({"room": counters}, gang, {"room": rejected})


@pytest.fixture
def measurements():
    return Measurements(window_s=30)


def test_service_time_is_busy_time_for_each_example_of_all_replicas_together(measurements):
    measurements.note(_snapshot({"a": (5, 50), "b": (1, 5)}), 0)
    measurements.note(_snapshot({"a": (8, 60), "b": (2, 15)}), 5)
    assert measurements.cost("room").busy_s == pytest.approx((3 + 1) / (10 + 10))


def test_cpu_time_is_counted_beside_busy_time_and_is_all_of_it_where_nobody_measures_it(measurements):
    measurements.note(_snapshot({"a": (5, 50, 4), "b": (1, 5)}), 0)
    measurements.note(_snapshot({"a": (8, 60, 5), "b": (2, 15)}), 5)
    assert measurements.cost("room") == pytest.approx((4 / 20, (1 + 1) / 20))
    assert measurements.cost("room").waits_s == pytest.approx(2 / 20)


def test_the_rate_is_of_what_was_seen_since(measurements):
    for now_s, done in ((0, 0), (5, 10), (10, 40), (20, 60)):
        measurements.note(_snapshot({"a": (now_s, done)}), now_s)
    assert measurements.rate("room") == pytest.approx(60 / 20)
    assert measurements.rate("room", 5) == pytest.approx(50 / 15)
    assert measurements.rate("room", 9) == pytest.approx(20 / 10)
    assert measurements.rate("room", 11) == measurements.rate("vtlp") == 0


def test_nothing_is_known_before_a_second_look_or_without_examples(measurements):
    measurements.note(_snapshot({"a": (5, 50)}), 0)
    assert measurements.cost("room") is None
    measurements.note(_snapshot({"a": (6, 50)}), 5)
    assert measurements.cost("room") is None
    assert measurements.cost("vtlp") is None
    assert measurements.demand() is None


def test_replicas_come_and_go_and_begin_anew(measurements):
    measurements.note(_snapshot({"a": (50, 100), "gone": (70, 70)}), 0)
    measurements.note(_snapshot({"a": (2, 4), "new": (1, 4)}), 5)  # a was counted from zero again
    assert measurements.cost("room").busy_s == pytest.approx((2 + 1) / (4 + 4))


def test_what_is_older_than_the_window_is_forgotten(measurements):
    measurements.note(_snapshot({"a": (0, 0)}), 0)
    measurements.note(_snapshot({"a": (100, 10)}), 5)
    for now_s in range(10, 41, 5):
        measurements.note(_snapshot({"a": (100 + now_s, 10 + now_s)}), now_s)
    assert measurements.cost("room").busy_s == pytest.approx(1.0)


def test_rejected_examples_lower_the_output_ratio(measurements):
    measurements.note(_snapshot({"a": (0, 0)}, rejected=7), 0)
    measurements.note(_snapshot({"a": (9, 90)}, rejected=17), 5)
    assert measurements.output_ratio("room") == pytest.approx(0.9)
    assert measurements.output_ratio("vtlp") == 1.0


def test_demand_is_that_of_the_rank_that_waits_least_inside_its_steps(measurements):
    measurements.note(_snapshot({}, {"rank-0": (0, 0), "rank-1": (0, 0)}), 0)
    measurements.note(_snapshot({}, {"rank-0": (2.0, 64), "rank-1": (4.0, 64)}), 10)
    demand = measurements.demand()
    assert demand.rate == pytest.approx(2 * 64 / 2.0)
    assert demand.observed == pytest.approx(128 / 10)
