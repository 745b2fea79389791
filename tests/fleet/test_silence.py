"""Who hangs, as a machine."""

from hypothesis import given
from hypothesis import strategies as st

from sonorant.fleet.silence import LONGEST_LOOK_S, SilenceWatch

LIVES = {"room-0": 7}


def looks(watch, seconds, heard=(), lives=LIVES, stopped=()):
    """Look every second; return when somebody was found to hang."""
    return [s + 1 for s in range(seconds) for _ in watch.look(1.0, lives, heard, stopped)]


def test_one_that_was_heard_and_says_nothing_more_hangs_once():
    watch = SilenceWatch(15.0)
    assert looks(watch, 100, heard={"room-0"}) == []
    assert looks(watch, 100) == [15]


def test_a_pause_of_a_few_seconds_is_no_hang():
    watch = SilenceWatch(15.0)
    for _ in range(5):
        watch.look(1.0, LIVES, {"room-0"})
        assert looks(watch, 14) == []


def test_one_that_loads_was_never_heard_and_may_take_its_time():
    assert looks(SilenceWatch(15.0), 1000) == []


def test_one_that_is_stopped_while_it_loads_hangs():
    assert looks(SilenceWatch(15.0), 100, stopped={"room-0"}) == [15]


def test_a_new_life_loads_again():
    watch = SilenceWatch(15.0)
    watch.look(1.0, LIVES, {"room-0"})
    assert looks(watch, 100, lives={"room-0": 8}) == []


def test_who_was_stopped_itself_does_not_take_the_others_for_silent():
    watch = SilenceWatch(15.0)
    watch.look(1.0, LIVES, {"room-0"})
    assert watch.look(3600.0, LIVES, ()) == []


def test_who_cannot_be_heard_now_is_not_judged():
    watch = SilenceWatch(15.0)
    watch.look(1.0, LIVES, {"room-0"})
    assert looks(watch, 100, lives={}) == []
    assert looks(watch, 10) == []


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=60))
def test_nobody_hangs_before_the_silence_has_lasted(events):
    watch, silent_s, was_heard, told = SilenceWatch(15.0), 0.0, False, False
    for elapsed_s, heard in events:
        silent_s = 0.0 if heard else silent_s + min(elapsed_s, LONGEST_LOOK_S)
        was_heard = was_heard or heard
        told = told and not heard
        hung = watch.look(elapsed_s, LIVES, {"room-0"} if heard else ())
        due = was_heard and silent_s >= 15.0 and not told
        assert (hung == ["room-0"]) == due
        told = told or due
