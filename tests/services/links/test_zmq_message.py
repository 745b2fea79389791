"""Messages in ZeroMQ's memory, over real sockets."""

import gc

import numpy as np
import pytest
import zmq

from services.links.zmq_message import ZmqMessage

LARGE = 300_000


@pytest.fixture
def pair():
    """Yield two connected sockets."""
    with zmq.Context() as context, context.socket(zmq.PUSH) as push, context.socket(zmq.PULL) as pull:
        push.setsockopt(zmq.LINGER, 0)
        pull.setsockopt(zmq.RCVTIMEO, 20_000)
        push.bind("inproc://test")
        pull.connect("inproc://test")
        yield push, pull


def written(value, size=LARGE):
    message = ZmqMessage(size)
    np.frombuffer(message.buffer, np.uint8)[:] = value
    return message


def test_what_is_written_arrives_from_the_very_memory_it_was_written_to(pair):
    push, pull = pair
    message = written(7)
    at = np.frombuffer(message.buffer, np.uint8).__array_interface__["data"][0]
    message.send(push)
    arrived = np.frombuffer(pull.recv(copy=False).buffer, np.uint8)
    assert arrived.size == LARGE
    assert (arrived == 7).all()
    assert arrived.__array_interface__["data"][0] == at  # within a process nothing at all is copied


def test_nobody_writes_to_a_message_that_is_sent(pair):
    message = written(1)
    message.send(pair[0])
    with pytest.raises(ValueError, match="released"):
        message.buffer[0] = 2


def test_a_message_outlives_whom_it_was_written_by(pair):
    push, pull = pair
    for value in range(50):
        written(value).send(push)
    gc.collect()
    others = [written(255) for _ in range(50)]  # would lie where the first did, had their memory been freed
    assert [set(bytes(pull.recv())) for _ in range(50)] == [{value} for value in range(50)]
    assert len(others) == 50


def test_a_message_that_is_not_taken_can_be_sent_to_another(pair):
    push, pull = pair
    message = written(3)
    with zmq.Context() as context, context.socket(zmq.PUSH) as lonely, pytest.raises(zmq.ZMQError) as refused:
        message.send(lonely)
    assert refused.value.errno == zmq.EAGAIN
    message.send(push)
    assert set(bytes(pull.recv())) == {3}


def test_memory_of_messages_that_are_never_sent_is_freed():
    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    written(1, 1 << 22)
    before = resident()
    for _ in range(100):
        written(1, 1 << 22)
    assert resident() - before < 1 << 25  # of 400 MB


def test_a_message_that_is_too_large_for_the_machine_says_so():
    with pytest.raises(MemoryError, match="no memory for a message of"):
        ZmqMessage(1 << 60)
