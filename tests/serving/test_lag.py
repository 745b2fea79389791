import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.serving.lag import Arrivals, LagWatch, Turns

services = st.lists(st.floats(0.001, 0.5), min_size=1, max_size=60)


@settings(max_examples=50, deadline=None)
@given(services)
def test_the_lag_of_a_paced_stream_is_that_of_its_true_arrivals(services):
    """A queue with one server, simulated: messages arrive each 0.1 s, and each is read when the one before is done."""
    arrivals, done_s = Arrivals(), 0.0
    for number, service_s in enumerate(services):
        arrived_s = 0.1 * number
        read_s = max(arrived_s, done_s)
        known = arrivals.arrived_s(read_s, 0.1)
        if read_s == done_s or read_s - done_s >= 0.025:  # it was there, or it was waited for
            assert known == pytest.approx(arrived_s, abs=0.025)
        done_s = read_s + service_s
        arrivals.recognized(done_s)


def test_a_client_that_pauses_is_not_late():
    arrivals = Arrivals()
    arrivals.arrived_s(0.0, 0.1)
    arrivals.recognized(0.01)
    assert arrivals.arrived_s(7.0, 0.1) == 7.0


@settings(max_examples=50, deadline=None)
@given(services)
def test_a_slow_clock_of_a_client_is_no_lag(jitter):
    arrivals, read_s = Arrivals(), 0.0
    for more_s in jitter:
        read_s += 0.1 + more_s
        assert arrivals.arrived_s(read_s, 0.1) == read_s
        arrivals.recognized(read_s + 0.02)


def test_live_audio_is_due_at_once_and_recordings_when_they_would_be_spoken():
    live, sent = Turns(), Turns()
    for number in range(600):
        now_s = 0.1 * number
        assert live.due_s(now_s) == pytest.approx(now_s)
        live.took(live.due_s(now_s), 0.1)
        assert not live.ahead(now_s)
    for number in range(600):
        due_s = sent.due_s(0.001 * number)
        assert due_s >= 0.095 * number - 1e-6
        sent.took(due_s, 0.1)
    assert sent.ahead(0.6)


def test_a_pause_earns_no_right_to_a_burst():
    turns = Turns()
    turns.took(turns.due_s(0.0), 0.1)
    turns.took(turns.due_s(100.0), 10.0)
    assert turns.due_s(100.0) == pytest.approx(109.5)


def test_audio_that_waits_counts_before_it_is_recognized():
    watch = LagWatch(0.15)
    watch.waits("one", 5.0)
    watch.waits("other", 6.0)
    assert not watch.overdue(5.1)
    assert watch.overdue(5.2)
    assert watch.worst_s(7.0) == 2.0
    watch.ended("one")
    assert watch.worst_s(7.0) == 1.0
    watch.ended("other")
    assert watch.worst_s(7.0) == 0.0
    assert not watch.overdue(7.0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 2)), min_size=1, max_size=50))
def test_the_worst_lag_is_that_of_the_last_five_seconds_and_none_older_than_fifteen(heard):
    watch, now_s, told = LagWatch(0.15), 0.0, []
    for pause_s, lag_s in heard:
        now_s += pause_s
        watch.heard(now_s, lag_s)
        told.append((now_s, lag_s))
    worst_s = watch.worst_s(now_s)
    assert worst_s >= max(lag_s for at_s, lag_s in told if now_s - at_s < 5)
    assert worst_s <= max(lag_s for at_s, lag_s in told if now_s - at_s < 15)
    assert watch.worst_s(now_s + 10.1) == 0.0


def test_parts_of_a_container_without_audio_do_not_hide_a_backlog():
    arrivals = Arrivals()
    arrivals.arrived_s(0.0, 1.0)
    arrivals.recognized(6.0)
    for _ in range(9):
        arrivals.arrived_s(6.0, 0.0)
        arrivals.recognized(6.0)
    assert arrivals.arrived_s(6.0, 1.0) == 1.0  # it lay there while the one before was recognized
