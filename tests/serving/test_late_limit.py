import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.serving.late_limit import LateLimit


def heard(limit, begin_s, seconds, streams, late_every, late_s=0.2):
    """Messages of so many streams, each 0.1 s; every n-th is late."""
    for number in range(int(10 * seconds * streams)):
        late = number % late_every == 0
        limit.heard(begin_s + number / (10 * streams), 0.1, late_s if late else 0.01)
    return begin_s + seconds


def test_more_than_one_in_twenty_late_messages_limit_the_streams_to_fewer_than_those():
    limit = LateLimit(0.15)
    now_s = heard(limit, 0.0, 3, streams=100, late_every=40)
    assert limit.streams(now_s) == math.inf
    now_s = heard(limit, now_s, 3, streams=100, late_every=10)
    assert 80 < limit.streams(now_s) < 90


def test_it_rises_when_audio_is_in_time_and_is_forgotten():
    limit = LateLimit(0.15)
    now_s = heard(limit, 0.0, 3, streams=100, late_every=2)
    low = limit.streams(now_s)
    now_s = heard(limit, now_s, 5, streams=80, late_every=1000)
    assert limit.streams(now_s) == pytest.approx(low + 25, abs=5)
    assert limit.streams(now_s + 10) == math.inf


def test_a_pause_behind_late_audio_does_not_make_it_less():
    limit = LateLimit(0.15)
    now_s = heard(limit, 0.0, 0.49, streams=100, late_every=2)
    limit.heard(now_s + 5, 0.1, 0.01)
    assert limit.streams(now_s + 5) > 100
    limit.heard(now_s + 100, 0.1, 0.01)
    assert limit.streams(now_s + 100) == math.inf


def test_what_waited_in_a_stall_is_no_more_streams():
    limit = LateLimit(0.15)
    now_s = heard(limit, 0.0, 2, streams=100, late_every=10**6) + 1.0
    now_s = heard(limit, now_s, 0.5, streams=300, late_every=1, late_s=1.0)
    limit.heard(now_s + 0.1, 0.1, 0.0)
    assert 80 < limit.streams(now_s) < 90


def test_a_burst_behind_silence_is_limited_by_its_own_streams():
    limit = LateLimit(0.15)
    limit.heard(0.0, 0.1, 0.01)
    now_s = heard(limit, 3600.0, 0.5, streams=100, late_every=2, late_s=0.3)
    limit.heard(now_s + 0.1, 0.1, 0.01)
    assert limit.streams(now_s) > 50


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1), st.floats(0, 2)), max_size=60))
def test_it_never_falls_while_nothing_is_late_and_is_gone_after_a_while(events):
    limit, now_s, before = LateLimit(0.15), 0.0, math.inf
    for pause_s, audio_s, lag_s in events:
        now_s += pause_s
        limit.heard(now_s, audio_s, lag_s)
    now_s += 0.6
    limit.heard(now_s, 0.1, 0.0)  # so that the last window ends
    late = limit.streams(now_s)
    for _ in range(40):
        now_s += 0.6
        limit.heard(now_s, 0.1, 0.0)
        before, late = late, limit.streams(now_s)
        assert late >= before or before == math.inf
    assert limit.streams(now_s + 1) == math.inf
