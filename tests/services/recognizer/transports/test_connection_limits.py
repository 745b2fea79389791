"""Which connections are aborted, without sockets: sights and the time in, connections out."""

import pytest

from services.recognizer.transports.connection_limits import ConnectionLimits, Sight

WAIT_S = 10.0
BUSY, IDLE = Sight(awaits_client=False), Sight(awaits_client=True)


@pytest.fixture
def limits():
    return ConnectionLimits(WAIT_S, most=48, most_unread=1000, drain_s=60.0)


def overdue_at(limits, sights):
    """When a connection is beyond a limit, of which each second has the next sight; None: never."""
    for now_s, sight in enumerate(sights):
        if limits.overdue({"one": sight}, float(now_s)):
            return now_s
    return None


def test_one_that_sends_nothing_is_overdue_after_the_wait(limits):
    limits.begin("one", 0.0)
    assert limits.overdue({"one": IDLE}, 9.9) == {}
    assert limits.overdue({"one": IDLE}, 10.0) == {"one": "waited"}


def test_one_that_an_application_serves_is_never_overdue(limits):
    assert overdue_at(limits, [BUSY] * 100) is None


def test_a_wait_begins_when_the_application_has_answered(limits):
    assert overdue_at(limits, [BUSY] * 30 + [IDLE] * 30) == 40


def test_another_request_begins_a_new_wait(limits):
    assert overdue_at(limits, [Sight(True, request=now_s // 8) for now_s in range(50)]) is None


def test_what_is_read_is_progress_though_the_process_holds_as_much(limits):
    assert overdue_at(limits, [Sight(True, unread=500, acknowledged=now_s) for now_s in range(50)]) is None


def test_less_unread_is_progress_where_the_kernel_does_not_count(limits):
    assert overdue_at(limits, [Sight(True, unread=500 - now_s) for now_s in range(50)]) is None


def test_the_last_that_is_read_is_progress(limits):
    sights = [Sight(True, unread=500, acknowledged=7)] * 6 + [Sight(True, acknowledged=507)] * 20
    assert overdue_at(limits, sights) == 16


def test_an_answer_that_nobody_reads_is_overdue(limits):
    assert overdue_at(limits, [Sight(True, unread=500, acknowledged=7)] * 50) == 10


def test_what_is_acknowledged_while_nothing_is_unread_is_no_progress(limits):
    assert overdue_at(limits, [Sight(True, acknowledged=now_s) for now_s in range(50)]) == 10


def test_the_rest_of_an_answered_body_is_progress_for_a_while(limits):
    assert overdue_at(limits, [Sight(True, drained=1 + now_s) for now_s in range(59)]) is None
    assert overdue_at(limits, [Sight(True, request=1, drained=1 + now_s) for now_s in range(100)]) == 69


def test_a_body_that_stands_still_is_overdue(limits):
    assert overdue_at(limits, [Sight(True, drained=100)] * 50) == 10


def test_too_much_unread_is_beyond_a_limit_while_an_application_serves_too(limits):
    assert limits.overdue({"one": Sight(awaits_client=False, unread=1001), "two": BUSY}, 0.0) == {"one": "unread"}


def test_a_newcomer_takes_the_places_of_those_that_have_waited_longest(limits):
    for place in range(48):
        limits.begin(place, float(place))
    limits.begin("new", 50.0)
    sights = dict.fromkeys([*range(48), "new"], IDLE)
    assert limits.surplus(sights, "new", 50.0) == [0, 1, 2]  # a 16th of 48


def test_a_newcomer_is_left_where_few_wait(limits):
    limits.begin("idle", 0.0)
    limits.begin("new", 1.0)
    sights = {place: BUSY for place in range(47)} | {"idle": IDLE, "new": IDLE}
    assert limits.surplus(sights, "new", 1.0) == ["idle"]


def test_a_newcomer_goes_where_no_other_waits(limits):
    limits.begin("new", 1.0)
    assert limits.surplus({place: BUSY for place in range(48)} | {"new": IDLE}, "new", 1.0) == ["new"]
