"""Detection of hanging processes, as a machine."""

from hypothesis import given
from hypothesis import strategies as st

from sonorant.fleet.silence import LONGEST_LOOK_S, SilenceWatch

LIVES = {"room-0": 7}


def looks(watch, seconds, alive=(), lives=LIVES, stopped=()):
    """Look every second; return the seconds at which a process was found to hang."""
    return [s + 1 for s in range(seconds) for _ in watch.look(1.0, lives, alive, stopped)]


def test_a_process_whose_signs_of_life_end_hangs_once():
    watch = SilenceWatch(15.0)
    assert looks(watch, 100, alive={"room-0"}) == []
    assert looks(watch, 100) == [15]


def test_a_pause_of_a_few_seconds_is_no_hang():
    watch = SilenceWatch(15.0)
    for _ in range(5):
        watch.look(1.0, LIVES, {"room-0"})
        assert looks(watch, 14) == []


def test_a_process_without_any_sign_of_life_is_still_loading():
    assert looks(SilenceWatch(15.0), 1000) == []


def test_a_process_that_is_stopped_while_it_loads_hangs():
    assert looks(SilenceWatch(15.0), 100, stopped={"room-0"}) == [15]


def test_a_new_life_loads_again():
    watch = SilenceWatch(15.0)
    watch.look(1.0, LIVES, {"room-0"})
    assert looks(watch, 100, lives={"room-0": 8}) == []


def test_time_in_which_the_watch_itself_stood_still_is_no_silence():
    watch = SilenceWatch(15.0)
    watch.look(1.0, LIVES, {"room-0"})
    assert watch.look(3600.0, LIVES, ()) == []


def test_a_process_that_cannot_be_observed_is_not_judged():
    watch = SilenceWatch(15.0)
    watch.look(1.0, LIVES, {"room-0"})
    assert looks(watch, 100, lives={}) == []
    assert looks(watch, 10) == []


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=60))
def test_no_process_hangs_before_the_silence_has_lasted(events):
    watch, silent_s, was_alive, reported = SilenceWatch(15.0), 0.0, False, False
    for elapsed_s, alive in events:
        silent_s = 0.0 if alive else silent_s + min(elapsed_s, LONGEST_LOOK_S)
        was_alive = was_alive or alive
        reported = reported and not alive
        hung = watch.look(elapsed_s, LIVES, {"room-0"} if alive else ())
        due = was_alive and silent_s >= 15.0 and not reported
        assert (hung == ["room-0"]) == due
        reported = reported or due
