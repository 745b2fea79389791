from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonorant.serving.headroom import Headroom
from sonorant.serving.loop_cost import LoopCost

SLO_S = 0.3


def calibrated(overhead_s=0.005, rate=0.003, workers=1):
    headroom = Headroom(SLO_S, workers, 32)
    for jobs in (1, 8, 32) * 3:
        headroom.cost.measured(0.0, jobs, 0.1 * jobs, overhead_s + rate * 0.1 * jobs)
    headroom.cost.settle()
    return headroom


def simulated_p95_s(streams, overhead_s, rate, batch=32, seconds=20):
    """95th percentile of the lag of paced streams, chunks of 0.1 s spread evenly, at one worker that takes all due.

    Its processor does the event loop's work, too, at what is assumed of it before any traffic.
    """
    rate += LoopCost().rate(0.0)
    arrivals = sorted(0.1 * k + 0.1 * n / streams for n in range(streams) for k in range(10 * seconds))
    now_s, lags, at = 0.0, [], 0
    while at < len(arrivals):
        now_s = max(now_s, arrivals[at])
        due = 0
        while due < batch and at + due < len(arrivals) and arrivals[at + due] <= now_s:
            due += 1
        now_s += overhead_s + rate * 0.1 * due
        lags += [now_s - arrived_s for arrived_s in arrivals[at : at + due]]
        at += due
    return sorted(lags)[int(0.95 * len(lags))]


COSTS = st.tuples(st.floats(0.0005, 0.02), st.floats(0.001, 0.03))


@settings(max_examples=20, deadline=None)
@given(COSTS)
def test_the_capacity_meets_the_slo_and_uses_more_than_half_of_what_could(cost):
    capacity = calibrated(*cost).capacity(0.0)
    assert capacity == 1 or simulated_p95_s(min(capacity, 400), *cost, seconds=5) <= SLO_S / 2
    assert simulated_p95_s(2 * capacity + 2, *cost, seconds=10) > SLO_S / 4


def test_workers_add_up_and_one_stream_always_fits():
    assert calibrated(rate=0.02, workers=4).capacity(0.0) >= 4 * calibrated(rate=0.02).capacity(0.0)
    assert calibrated(rate=50.0).fitting(0.0, 0) == 1


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("round"), st.floats(0, 1), st.integers(1, 32), st.floats(0, 30)),
        st.tuples(st.just("heard"), st.floats(0, 1), st.floats(0, 60), st.just(0)),
        st.tuples(st.just("waits"), st.floats(0, 1), st.integers(0, 9), st.just(0)),
    ),
    max_size=80,
)


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.integers(0, 2000))
def test_whatever_came_it_never_gives_more_than_the_capacity_and_recovers_when_the_load_is_gone(events, active):
    headroom, now_s = calibrated(), 0.0
    full = headroom.fitting(now_s, 0)
    for kind, pause_s, number, took_s in events:
        now_s += pause_s
        if kind == "round":
            headroom.cost.measured(now_s, number, 0.1 * number, took_s)
        elif kind == "heard":
            headroom.heard(now_s, 0.1, number, 0.0)
        else:
            headroom.lag.waits(number, now_s)
        fitting = headroom.fitting(now_s, active)
        assert 0 <= fitting <= max(0, headroom.capacity(now_s) - active) or not active
        assert headroom.fitting(now_s, 0) >= 1
    for stream in range(10):
        headroom.lag.ended(stream)
    assert headroom.fitting(now_s + 120.0, 0) == full
    assert headroom.fitting(now_s + 120.0, 1) == full - 1


def test_fewer_than_were_late_fit_and_none_while_audio_is_overdue():
    headroom = calibrated()
    for number in range(80):  # 20 streams
        headroom.heard(0.005 * number, 0.1, SLO_S, 0.0)
    headroom.heard(0.6, 0.1, 0.0, 0.0)
    assert headroom.fitting(0.6, 20) == 0
    assert 0 < headroom.fitting(0.6, 5) < 15
    headroom.lag.waits("one", 0.6)
    assert headroom.fitting(0.6 + SLO_S, 5) == 0
    assert headroom.fitting(0.6 + SLO_S, 0) > 0


def test_one_thread_is_the_event_loop_whatever_the_number_of_workers():
    headroom = calibrated(workers=64)
    before = headroom.capacity(0.0)
    for number in range(1, 1000):
        headroom.heard(0.01 * number, 1.0, 0.0, 0.005 * number)  # so the thread carries 200
    assert 150 < headroom.capacity(10.0) < 200 < before


def loaded(streams, each, others, seconds=60):
    """With streams that cost the loop so many CPU seconds a second each, beside calls that cost it `others`."""
    headroom = calibrated()
    for number in range(1, 10 * seconds):
        headroom.heard(0.1 * number, 0.1 * streams, 0.0, 0.1 * number * (streams * each + others))
    return headroom.capacity(0.1 * seconds)


def test_calls_without_audio_leave_the_capacity_that_the_loop_has_left():
    assert loaded(4, 0.003, 0.0) > 100
    assert 30 < loaded(4, 0.003, 0.45) < 0.55 / 0.003
    assert loaded(4, 0.003, 0.95) < 10


@settings(max_examples=30, deadline=None)
@given(st.floats(0.001, 0.05), st.floats(0.9, 1.0))
@example(0.048828125, 0.90625)
def test_streams_alone_are_admitted_no_further_than_the_loop_carries_them(each, busy):
    assert loaded(busy / each, each, 0.0) <= busy / each


def test_a_slower_machine_carries_fewer():
    headroom = calibrated()
    before = headroom.capacity(0.0)
    for number in range(1000):
        headroom.cost.measured(0.01 * number, 4, 0.4, 5 * (0.005 + 0.003 * 0.4))
    assert headroom.capacity(10.0) < before / 2


def test_what_the_event_loop_takes_of_a_round_counts_once():
    rate, loop, streams = 0.004, 0.002, 100  # on one processor, which the loop has for a fifth of the time
    headroom, now_s = Headroom(SLO_S, 1, 32), 0.0
    for number in range(1, 3000):
        now_s = 0.01 * number
        headroom.heard(now_s, 0.01 * streams, 0.0, loop * 0.01 * streams * number)
        headroom.cost.measured(now_s, 10, 0.01 * streams, rate * 0.01 * streams / (1 - loop * streams))
    assert headroom.capacity(now_s) in range(int(0.85 / (rate + loop)), int(0.95 / (rate + loop)))


@given(COSTS, st.integers(1, 500))
def test_streams_gather_from_half_the_capacity_on_and_never_for_the_whole_slo(cost, active):
    headroom = calibrated(*cost)
    capacity = headroom.capacity(0.0)
    gather_s = headroom.gather_s(0.0, active)
    assert gather_s <= headroom.gather_s(0.0, active + 1) <= 2 / 3 * SLO_S
    assert headroom.gather_s(0.0, capacity // 2) == 0.0 < headroom.gather_s(0.0, capacity // 2 + 1)
    if active >= capacity:
        assert gather_s == 2 / 3 * SLO_S


def test_streams_gather_for_half_a_second_at_most_whatever_the_slo():
    assert Headroom(60.0, 1, 32).gather_s(0.0, 1_000_000) == 0.5
