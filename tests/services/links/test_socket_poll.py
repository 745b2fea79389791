"""Which sockets have something to read: what a poll of real sockets finds is what was sent and not read yet."""

import select
import socket
import threading
import time

import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from services.links.socket_poll import SocketPoll

SOCKETS = 4
STEPS = st.tuples(st.sampled_from(["send", "read", "cross", "watch"]), st.integers(0, SOCKETS - 1))


@pytest.fixture
def context():
    with zmq.Context() as context:
        yield context


@pytest.fixture
def bell():
    bell, ringer = socket.socketpair()
    with bell, ringer:
        yield bell, ringer


def pairs(context, count):
    """Return pairs of connected sockets."""
    for number in range(count):
        ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
        ours.bind(f"inproc://{number}")
        theirs.connect(f"inproc://{number}")
        yield ours, theirs


def found(poll, timeout_ms=0):
    return poll.wait(timeout_ms)[1]


@given(st.lists(STEPS, max_size=40))
@settings(deadline=None)
def test_whatever_is_sent_and_read_it_finds_exactly_the_sockets_with_messages(steps):
    bell, ringer = socket.socketpair()
    with zmq.Context() as context, bell, ringer:
        ours, theirs = zip(*pairs(context, SOCKETS), strict=True)
        poll, unread = SocketPoll(bell), [0] * SOCKETS
        poll.watch(ours)
        for step, at in steps:
            if step == "send":
                theirs[at].send(b"news")
                unread[at] += 1
            elif step == "read" and unread[at]:
                assert ours[at] in found(poll)
                ours[at].recv(zmq.NOBLOCK)  # one: others may lie there
                unread[at] -= 1
            elif step == "cross":
                theirs[at].send(b"news")
                unread[at] += 1
                ours[at].send(b"word")
                ours[at].get(zmq.EVENTS)  # takes the notice of what has come, as sending does now and then
                poll.touch([ours[at]])
            elif step == "watch":
                poll.watch(ours)
            assert found(poll) == {one for one, count in zip(ours, unread, strict=True) if count}
        poll.close()
        for one in (*ours, *theirs):
            one.close(linger=0)


def test_it_sleeps_until_a_message_comes(context, bell):
    [(ours, theirs)] = pairs(context, 1)
    with ours, theirs:
        poll = SocketPoll(bell[0])
        poll.watch([ours])
        assert found(poll) == set()
        writer = threading.Timer(0.2, theirs.send, [b"news"])
        writer.start()
        looks = [found(poll, 20_000)]
        while not looks[-1] and len(looks) < 5:  # it may wake once or twice for nothing
            looks.append(found(poll, 20_000))
        assert looks[-1] == {ours}
        writer.join()
        poll.close()


def test_it_does_not_sleep_while_something_is_unread(context, bell):
    [(ours, theirs)] = pairs(context, 1)
    with ours, theirs:
        poll = SocketPoll(bell[0])
        poll.watch([ours])
        theirs.send(b"news")
        assert found(poll) == {ours}
        began_s = time.monotonic()
        assert found(poll, 20_000) == {ours}
        assert time.monotonic() - began_s < 10
        poll.close()


def test_the_bell_wakes_it_and_is_told_apart(context, bell):
    [(ours, theirs)] = pairs(context, 1)
    with ours, theirs:
        poll = SocketPoll(bell[0])
        poll.watch([ours])
        assert poll.wait(0) == (False, set())
        bell[1].send(b"!")
        assert poll.wait(20_000) == (True, set())
        theirs.send(b"news")
        assert poll.wait(0) == (True, {ours})
        bell[0].recv(16)
        assert poll.wait(0) == (False, {ours})
        poll.close()


def test_closed_sockets_and_those_no_longer_watched_are_not_found(context, bell):
    sockets = list(pairs(context, 3))
    poll = SocketPoll(bell[0])
    poll.watch([ours for ours, _ in sockets])
    for _, theirs in sockets:
        theirs.send(b"news")
    (first, _), (second, _), (third, _) = sockets
    assert found(poll) == {first, second, third}
    first.close(linger=0)
    assert found(poll) == {second, third}
    poll.watch([third])
    assert found(poll) == {third}
    poll.close()
    for both in sockets:
        for one in both:
            one.close(linger=0)


def test_a_peer_that_connects_is_no_news(context, bell):
    with context.socket(zmq.DEALER) as ours, context.socket(zmq.DEALER) as theirs:
        ours.bind("inproc://here")
        poll = SocketPoll(bell[0])
        poll.watch([ours])
        assert found(poll) == set()
        theirs.connect("inproc://here")
        assert select.select([ours.fd], [], [], 20)[0]  # ZeroMQ's file tells of that too
        assert found(poll, 200) == set()
        poll.close()
