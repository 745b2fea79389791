from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.errors import Unavailable
from sonorant.serving.admission import Admission
from sonorant.serving.errors import BadRequest, TooManyStreams
from sonorant.serving.headroom import Headroom


def test_one_more_than_there_are_places_is_refused():
    admission = Admission(2)
    with admission.slot(), admission.slot(), pytest.raises(TooManyStreams, match="no more than 2"), admission.slot():
        pass
    assert admission.active == 0


def test_a_stream_that_fails_gives_its_place_back():
    admission = Admission(1)
    with pytest.raises(ZeroDivisionError), admission.slot():
        raise ZeroDivisionError
    with admission.slot():
        assert admission.active == 1


def test_closed_doors_keep_new_streams_out_and_let_the_old_ones_end():
    admission = Admission(2)
    with admission.slot():
        admission.close()
        with pytest.raises(Unavailable, match="shutting down"), admission.slot():
            pass
        assert admission.active == 1
    assert admission.active == 0


def test_several_slots_are_held_all_or_none():
    admission = Admission(4)
    with admission.slot(3):
        with pytest.raises(TooManyStreams, match="3 streams, no more than 4"), admission.slot(2):
            pass
        assert admission.active == 3
    assert admission.active == 0


def test_a_stream_that_needs_more_than_there_are_is_a_bad_request():
    admission = Admission(4)
    with admission.slot(), pytest.raises(BadRequest, match="5 streams in one"), admission.slot(4, held=1):
        pass


def measured(rate):
    headroom = Headroom(0.3, 1, 32)
    headroom.cost.measured(0.0, 10, 1.0, rate)
    headroom.cost.settle()
    return headroom


@settings(max_examples=50, deadline=None)
@given(st.floats(0.001, 1.0), st.integers(1, 200))
def test_a_burst_is_admitted_up_to_the_capacity_before_any_of_it_is_measured(rate, burst):
    headroom = measured(rate)
    admission = Admission(100, headroom)
    with ExitStack() as open_:
        refused = 0
        for _ in range(burst):
            try:
                open_.enter_context(admission.slot())
            except TooManyStreams:
                refused += 1
        assert admission.active == min(burst, 100, headroom.capacity(0.0)) == burst - refused
        assert admission.load == pytest.approx(admission.active / min(100, headroom.capacity(0.0)))
    assert admission.active == admission.load == 0


def test_a_stream_of_many_channels_fits_where_there_is_no_other():
    admission = Admission(8, measured(1.0))
    with admission.slot(), admission.slot(4, held=1):
        assert admission.active == 5
    admission = Admission(8, measured(0.2))
    with (
        admission.slot(),
        admission.slot(),
        pytest.raises(TooManyStreams, match="4 more would delay the others"),
        admission.slot(4, held=1),
    ):
        pass


def test_an_overload_refuses_the_next_and_leaves_the_others():
    headroom = measured(0.01)
    admission = Admission(100, headroom)
    with admission.slot(), admission.slot():
        headroom.lag.waits("one", -2.0)
        with pytest.raises(TooManyStreams, match="2 streams, one more would delay"), admission.slot():
            pass
        assert (admission.active, admission.fitting, admission.load) == (2, 0, 1.0)


def test_the_time_to_retry_is_that_in_which_a_stream_ends():
    now_s = [0.0]
    admission = Admission(4, clock=lambda: now_s[0])
    for _ in range(100):
        with admission.slot():
            now_s[0] += 20.0
    with ExitStack() as open_:
        for _ in range(4):
            open_.enter_context(admission.slot())
        with pytest.raises(TooManyStreams, match=r"try again in 5.0 s") as caught, admission.slot():
            pass
    assert caught.value.retry_s == pytest.approx(5.0, rel=0.01)


def test_those_who_are_refused_come_again_one_after_the_other():
    now_s = [0.0]
    admission = Admission(4, clock=lambda: now_s[0])
    waits_s = []
    with ExitStack() as open_:
        for _ in range(4):
            open_.enter_context(admission.slot())
        for _ in range(10):
            with pytest.raises(TooManyStreams) as caught, admission.slot():
                pass
            waits_s.append(caught.value.retry_s)
        now_s[0] += 60.0
        with pytest.raises(TooManyStreams) as later, admission.slot():
            pass
    assert waits_s == pytest.approx([2.5, 5.0, 7.5, *[10.0] * 7])  # a stream lasts 10 s before any is known
    assert later.value.retry_s == pytest.approx(2.5)


def test_what_computes_nothing_needs_no_slot():
    admission = Admission(1)
    with admission.slot(), admission.open():
        assert admission.active == 1
    admission.close()
    with pytest.raises(Unavailable), admission.open():
        pass
