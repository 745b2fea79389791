"""Silence is death, unless we did not listen."""

from services.links.liveness import Liveness


def _listened(liveness, start_s, end_s):
    """Look ten times a second; return the dead."""
    dead = []
    for tenth in range(round(start_s * 10), round(end_s * 10) + 1):
        for peer in liveness.dead(tenth / 10):
            liveness.forget(peer)
            dead.append((peer, tenth / 10))
    return dead


def test_a_peer_that_is_silent_for_too_long_is_dead():
    liveness = Liveness(2.0)
    liveness.received("a", 0.0)
    liveness.received("b", 1.0)
    assert _listened(liveness, 0, 5) == [("a", 2.0), ("b", 3.0)]


def test_a_sign_of_life_gives_new_time():
    liveness = Liveness(2.0)
    liveness.received("a", 0.0)
    _listened(liveness, 0, 1.5)
    liveness.received("a", 1.5)
    assert _listened(liveness, 1.6, 5) == [("a", 3.5)]


def test_time_in_which_nobody_looked_does_not_count():
    liveness = Liveness(2.0)
    liveness.received("a", 0.0)
    _listened(liveness, 0, 1)
    assert liveness.dead(60.0) == []
    assert _listened(liveness, 60.1, 70) == [("a", 61.0)]


def test_a_peer_after_a_long_time_without_any_is_given_no_more_than_others():
    liveness = Liveness(2.0)
    liveness.dead(0.0)
    liveness.received("a", 60.0)
    assert _listened(liveness, 60, 70) == [("a", 62.0)]


def test_nothing_is_due_when_nobody_is_expected():
    liveness = Liveness(2.0)
    assert liveness.next_look_s(5.0) == float("inf")
    liveness.received("a", 5.0)
    assert liveness.next_look_s(5.0) == 5.5
    assert liveness.next_look_s(6.9) == 7.0
