"""A link's life: what connects, pings and ends when, whatever happens in whatever order."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sonorant.links.life import CONNECT_TIMEOUT_S, PAUSE_S, Bye, Close, Connect, LinkLife, Ping, State, stood_still_s

DEAD_AFTER_S = 2.0
NEVER_S = float("inf")
_EPS = 1e-6


class Lives(RuleBasedStateMachine):
    """Carries out the actions as sockets would, with the state of a socket, and measures silence while it runs."""

    @initialize()
    def begin(self):
        self.life, self.now_s = LinkLife(DEAD_AFTER_S), 100.0
        self.listed = self.drained = self.connected = self.open = False
        self.ended_s = -NEVER_S
        self.silent_s = self.quiet_s = 0.0  # since the peer, and since we, gave the latest sign of life
        self.doubt_s = 0.0  # of how long a peer was silent when we stood still: up to one look's distance each time

    @property
    def timeout_s(self):
        return DEAD_AFTER_S if self.open else CONNECT_TIMEOUT_S

    def _sign_of_life(self):
        self.silent_s = self.doubt_s = 0.0

    def _sent(self):
        self.life.sent(self.now_s)
        self.quiet_s = 0.0

    def _do(self, actions, *expected):
        for action in actions:
            match action:
                case Connect():
                    assert self.listed
                    assert not self.connected
                    assert self.now_s - self.ended_s >= PAUSE_S - _EPS
                    self.connected = True
                    self._sign_of_life()
                    self._sent()
                case Ping():
                    assert self.connected
                    assert self.quiet_s >= DEAD_AFTER_S / 4 - _EPS
                    self._sent()
                case Bye():
                    assert self.open
                    self._sent()
                case Close(reason, was_open, broken):
                    assert self.connected
                    assert was_open == self.open
                    assert broken == (self.open and reason in ("silent", "disconnected"))
                    assert reason != "silent" or self.silent_s >= self.timeout_s - _EPS
                    self.connected = self.open = False
                    self.ended_s = self.now_s
        if expected:
            assert tuple(actions) == expected

    @precondition(lambda self: not self.drained)
    @rule()
    def list(self):
        self.listed = True
        begins = self.life.state is State.CLOSED
        self._do(self.life.listed(self.now_s))
        assert self.connected or not begins

    @precondition(lambda self: not self.drained)
    @rule()
    def unlist(self):
        self.listed = False
        gives_up = self.connected and not self.open
        self._do(self.life.unlisted(self.now_s), *[Close("unlisted", False, False)] * gives_up)
        assert self.connected == self.open

    @precondition(lambda self: self.drained and not self.connected)
    @rule()
    def begin_another(self):
        self.begin()

    @rule(again=st.sampled_from([LinkLife.listed, LinkLife.unlisted]))
    def drain(self, again):
        self.listed, self.drained = False, True
        self.life.drain()
        assert list(again(self.life, self.now_s)) == []

    @precondition(lambda self: self.connected and not self.open)
    @rule()
    def welcome(self):
        self.open = True
        self._sign_of_life()
        self.life.welcomed(self.now_s)

    @precondition(lambda self: not self.drained)
    @rule()
    def link(self):
        if not self.connected:
            self.list()
            self.wait(PAUSE_S + 0.01)
        if not self.open:
            self.welcome()

    @rule(says=st.booleans(), ticks=st.booleans(), hears=st.booleans())
    def go_on(self, says, ticks, hears):
        if says and self.connected:
            self._sent()
        if hears:
            self._hear()
        if ticks:
            self._tick()

    def _hear(self):
        if self.open:
            self._sign_of_life()
        self.life.received(self.now_s)

    @rule(how=st.sampled_from(["bye_received", "lost", "both and time passes"]))
    def end(self, how):
        if how != "lost":
            self._send_bye()
        if how != "bye_received":
            self._lose()
        if how == "both and time passes":
            self.wait(PAUSE_S + 0.01)
            assert self.connected == self.listed
            assert self.listed or self.life.state is State.CLOSED

    def _send_bye(self):
        expected = [Close("unwanted", False, False)] * self.connected
        if self.open:
            expected = [Bye(), Close("bye", True, False)]
        self._do(self.life.bye_received(self.now_s), *expected)
        assert not self.connected

    def _lose(self):
        self._do(self.life.lost(self.now_s), *[Close("disconnected", self.open, self.open)] * self.connected)
        assert not self.connected

    @rule(seconds=st.floats(0.01, 8.0))
    def wait(self, seconds):
        """Tick when it is due, and never else; nothing that is due is forgotten."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self._pass(min(max(self.life.due_s, self.now_s), end_s) - self.now_s)
            if self.now_s < self.life.due_s:
                break
            self._tick()
            assert self.life.due_s > self.now_s

    @rule(seconds=st.floats(CONNECT_TIMEOUT_S / 2 + 0.01, 1000.0))
    def stand_still(self, seconds):
        """Hear nothing, do nothing: what the peers sent meanwhile lies unread."""
        self.now_s += seconds
        self.quiet_s += seconds
        self.doubt_s += self.timeout_s / 4

    def _pass(self, seconds):
        self.now_s += seconds
        self.silent_s += seconds
        self.quiet_s += seconds

    def _tick(self):
        self._do(self.life.tick(self.now_s))
        if self.connected:
            assert self.silent_s <= self.timeout_s + self.doubt_s + _EPS
            assert self.quiet_s < DEAD_AFTER_S / 4 + _EPS
        else:
            assert not self.listed or self.now_s - self.ended_s <= PAUSE_S

    @invariant()
    def the_state_is_what_the_socket_and_the_list_say(self):
        state = self.life.state
        if self.open:
            assert state is (State.OPEN if self.listed else State.DRAINING)
        elif self.connected:
            assert state is State.CONNECTING
        elif self.drained or self.ended_s == -NEVER_S:
            assert state is State.CLOSED
        else:
            assert state is State.BACKOFF or (state is State.CLOSED and not self.listed)
        assert self.life.is_open == self.open
        assert (self.life.due_s == NEVER_S) == (state is State.CLOSED)


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=200, stateful_step_count=40)


def living(*events):
    """Return a life after events: a name, and the time of those that have one."""
    life = LinkLife(DEAD_AFTER_S)
    for name, *when in events:
        for action in getattr(life, name)(*when) or ():
            if isinstance(action, Connect | Ping | Bye):
                life.sent(*when)
    return life


CONNECTING = [("listed", 0.0)]
OPEN = [*CONNECTING, ("welcomed", 1.0)]
DRAINING = [*OPEN, ("unlisted", 1.0)]
DRAINED = [*OPEN, ("drain",)]
BACKOFF = [*OPEN, ("lost", 1.0)]


@pytest.mark.parametrize(
    ("before", "event", "actions", "state"),
    [
        ([], ("listed", 0.0), [Connect()], State.CONNECTING),
        ([], ("unlisted", 0.0), [], State.CLOSED),
        ([], ("lost", 0.0), [], State.CLOSED),
        (CONNECTING, ("listed", 1.0), [], State.CONNECTING),
        (CONNECTING, ("welcomed", 1.0), [], State.OPEN),
        (CONNECTING, ("refused",), [], State.CLOSED),
        (CONNECTING, ("unlisted", 1.0), [Close("unlisted", False, False)], State.BACKOFF),
        (CONNECTING, ("bye_received", 1.0), [Close("unwanted", False, False)], State.BACKOFF),
        (CONNECTING, ("lost", 1.0), [Close("disconnected", False, False)], State.BACKOFF),
        ([*CONNECTING, ("drain",)], ("welcomed", 1.0), [], State.DRAINING),
        ([*CONNECTING, ("drain",)], ("lost", 1.0), [Close("disconnected", False, False)], State.CLOSED),
        (OPEN, ("unlisted", 1.0), [], State.DRAINING),
        (OPEN, ("drain",), [], State.DRAINING),
        (OPEN, ("bye_received", 1.0), [Bye(), Close("bye", True, False)], State.BACKOFF),
        (OPEN, ("lost", 1.0), [Close("disconnected", True, True)], State.BACKOFF),
        (DRAINING, ("listed", 1.0), [], State.OPEN),
        (DRAINING, ("bye_received", 1.0), [Bye(), Close("bye", True, False)], State.BACKOFF),
        (DRAINING, ("lost", 1.0), [Close("disconnected", True, True)], State.BACKOFF),
        (DRAINED, ("listed", 1.0), [], State.DRAINING),
        (DRAINED, ("lost", 1.0), [Close("disconnected", True, True)], State.CLOSED),
        ([*DRAINED, ("lost", 1.0)], ("listed", 1.0), [], State.CLOSED),
        (BACKOFF, ("listed", 1.0), [], State.BACKOFF),
        (BACKOFF, ("drain",), [], State.CLOSED),
        (BACKOFF, ("tick", 1.24), [], State.BACKOFF),
        (BACKOFF, ("tick", 1.25), [Connect()], State.CONNECTING),
        ([*BACKOFF, ("unlisted", 1.1)], ("tick", 1.25), [], State.CLOSED),
        ([*BACKOFF, ("unlisted", 1.1), ("listed", 1.2)], ("tick", 1.25), [Connect()], State.CONNECTING),
        (BACKOFF, ("tick", 99.0), [Connect()], State.CONNECTING),
    ],
)
def test_each_event_has_its_actions_and_its_next_state(before, event, actions, state):
    life = living(*before)
    name, *when = event
    assert list(getattr(life, name)(*when) or ()) == actions
    assert life.state is state


def ticked(life, start_s, end_s):
    """Tick ten times a second; return what is due, and when."""
    due = []
    for tenth in range(round(start_s * 10), round(end_s * 10) + 1):
        due += [(action, tenth / 10) for action in life.tick(tenth / 10)]
    return due


def ends(due):
    return [(action.reason, when_s) for action, when_s in due if isinstance(action, Close)]


def test_who_does_not_answer_is_given_up_after_five_seconds_and_tried_again():
    due = ticked(living(*CONNECTING), 0.0, 6.0)
    assert ends(due) == [("silent", 5.0)]
    assert (Connect(), 5.3) in due


def test_a_peer_that_is_silent_for_too_long_is_dead_and_a_sign_of_life_gives_new_time():
    life = living(*OPEN)
    assert ends(ticked(life, 1.0, 2.5)) == []
    life.received(2.5)
    assert ends(ticked(life, 2.6, 4.6)) == [("silent", 4.5)]


def test_who_is_silent_after_the_welcome_is_dead():
    assert ends(ticked(living(*OPEN), 1.0, 3.1)) == [("silent", 3.0)]


def test_a_link_is_looked_at_four_times_in_its_time_out_however_much_is_sent():
    life = LinkLife(60.0)
    life.listed(0.0)
    assert life.due_s == CONNECT_TIMEOUT_S / 4
    life.welcomed(1.0)
    life.sent(14.0)
    assert life.tick(15.0) == ()
    life.sent(16.0)
    assert list(life.tick(16.0)) == []
    assert life.due_s == 29.0
    life.sent(28.0)
    assert list(life.tick(29.0)) == []
    assert life.due_s == 43.0


def test_a_ping_follows_a_quarter_of_the_time_out_after_the_latest_message():
    life = living(*OPEN)
    life.sent(1.0)
    assert ticked(life, 1.0, 2.1) == [(Ping(), 1.5), (Ping(), 2.0)]
    life.received(2.1)
    life.sent(2.2)
    assert ticked(life, 2.2, 3.0) == [(Ping(), 2.7)]


@pytest.mark.parametrize(("before", "silence_s"), [(CONNECTING, 4.0), (OPEN, 1.0)])
def test_time_in_which_this_process_stood_still_does_not_count(before, silence_s):
    life = living(*before)
    begun_s = before[-1][-1]
    assert ends(ticked(life, begun_s, begun_s + 1.0)) == []
    assert ends(ticked(life, 61.0, 61.0 + silence_s - 0.1)) == []
    assert ends(ticked(life, 61.0 + silence_s, 63.0 + silence_s)) != []


def test_after_a_standstill_a_peer_is_given_no_more_than_others():
    life = living(*OPEN)
    life.received(60.0)
    assert ends(ticked(life, 60.0, 64.0)) == [("silent", 62.0)]


def test_only_a_long_time_without_a_look_is_a_standstill():
    assert stood_still_s(10.0, 2.0, 11.0) == 0.0
    assert stood_still_s(10.0, 2.0, 11.5) == 1.5
