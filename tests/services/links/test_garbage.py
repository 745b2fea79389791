"""Malformed and oversized messages, and other versions, over real sockets: no other link is affected."""

import random
import socket

import pytest
import zmq
from rigs.links import Consumer, Producer, bare_producer, message, welcome
from rigs.waiting import eventually

from sonorant.links.wire import PROTOCOL_VERSION, Kind, decode_header, encode_header

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48)  # ZMTP 3's, section 2


def test_garbage_from_a_consumer_is_dropped_and_nobody_else_notices(rig, bare):
    producer = rig(Producer())
    consumer = rig(Consumer([producer.endpoint], credits=2))
    producer.offer([0])
    assert consumer.take(1) == [0]
    rogue = bare(zmq.DEALER)
    rogue.connect(producer.endpoint)
    messages = [
        [b""], [b"\xff" * 5], [b"x" * 4000], [encode_header(Kind.GRANT, 5)], [encode_header(Kind.HELLO, 99)],
        [encode_header(Kind.HELLO, PROTOCOL_VERSION)] * 3,
    ]  # fmt: skip
    for frames in messages:
        rogue.send_multipart(frames)
    eventually(lambda: producer.links.faults == len(messages))
    rogue.send(b"x" * 100_000)  # so large that ZeroMQ cuts the connection
    eventually(lambda: producer.links.faults == len(messages) + 1)
    producer.offer(range(1, 50))
    assert consumer.take(49) == list(range(1, 50))


def test_bye_of_a_stranger_excuses_no_fault(rig, bare):
    producer = rig(Producer())
    stranger = bare(zmq.DEALER)
    stranger.connect(producer.endpoint)
    stranger.send(encode_header(Kind.BYE))
    stranger.send(encode_header(Kind.PING))
    assert decode_header(stranger.recv()).kind is Kind.BYE  # it is told that it has no link
    eventually(lambda: producer.links.faults == 1)  # a PING before HELLO
    stranger.close()
    eventually(lambda: producer.links.faults == 2)


@pytest.mark.parametrize(
    "garbage",
    [random.Random(0).randbytes(4096), b"\xff" + bytes(64), GREETING + random.Random(0).randbytes(200)],
    ids=["of any kind", "in the greeting", "after the greeting"],
)
def test_garbage_on_the_port_is_counted_and_nobody_else_notices(rig, garbage):
    producer = rig(Producer())
    consumer = rig(Consumer([producer.endpoint], credits=2))
    host, port = producer.endpoint.removeprefix("tcp://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(garbage)
        producer.offer(range(50))
        assert consumer.take(50) == list(range(50))
    eventually(lambda: producer.links.faults > 0)
    assert not producer.broken


def test_garbage_from_a_producer_is_dropped_and_nobody_else_notices(rig, bare):
    rogue, endpoint = bare_producer(bare)
    producer = rig(Producer())
    consumer = rig(Consumer([endpoint], credits=2))
    peer, _credit = welcome(rogue)
    consumer.list([endpoint, producer.endpoint])
    eventually(lambda: consumer.linked == 2)
    consumer.release(4)
    good = bytes(message(7))
    messages = [
        [b"garbage"], [encode_header(Kind.HELLO, 1)], [encode_header(Kind.RETURN, 9)], [encode_header(Kind.EXAMPLES)],
        [encode_header(Kind.EXAMPLES, 1)], [good[:-1]], [good, b""], [good + bytes(16)], [good * 2],
        [encode_header(Kind.EXAMPLES, 2) + good[8:]], [encode_header(Kind.WELCOME, PROTOCOL_VERSION)],
    ]  # fmt: skip
    for frames in messages:
        rogue.send_multipart([peer, *frames])
    eventually(lambda: consumer.links.faults == len(messages))
    assert not consumer.broken
    producer.offer(range(30))
    assert consumer.take(30) == list(range(30))


def test_examples_beyond_credit_are_dropped(rig, bare):
    greedy, endpoint = bare_producer(bare)
    consumer = rig(Consumer([endpoint], credits=2))
    peer, credit = welcome(greedy)
    assert credit == 2
    for number in range(5):
        greedy.send_multipart([peer, message(number)])
    eventually(lambda: consumer.links.faults == 3)
    assert consumer.empty() == [0, 1]


def test_a_consumer_of_another_version_gets_nothing(rig, bare):
    producer = rig(Producer())
    producer.offer([0])
    old = bare(zmq.DEALER)
    old.connect(producer.endpoint)
    old.send(encode_header(Kind.HELLO, PROTOCOL_VERSION + 1))
    old.send(encode_header(Kind.GRANT, 1))
    assert decode_header(old.recv()) == (Kind.WELCOME, PROTOCOL_VERSION)
    assert decode_header(old.recv()) == (Kind.BYE, 0)
    assert producer.handed == []


@pytest.fixture
def beside_a_rogue(rig, bare):
    """A rogue producer with credit, a good one, and their consumer, which accepts examples of 1 MiB at most."""
    rogue, endpoint = bare_producer(bare)
    good = rig(Producer())
    consumer = rig(Consumer([endpoint], credits=2, max_example_bytes=1 << 20))
    peer, _credit = welcome(rogue)
    consumer.list([endpoint, good.endpoint])
    eventually(lambda: consumer.linked == 2)
    consumer.release(4)
    return rogue, peer, good, consumer


def test_an_example_above_the_limit_is_dropped_and_counted_and_its_link_goes_on(beside_a_rogue):
    rogue, peer, good, consumer = beside_a_rogue
    rogue.send_multipart([peer, message(7, samples=1 + (1 << 18))])
    rogue.send_multipart([peer, message(8, samples=(1 << 18) - 100)])
    assert consumer.take(1) == [8]
    assert consumer.links.faults == 1
    good.offer(range(30))
    assert consumer.take(30) == list(range(30))
    assert not consumer.broken


def test_a_message_far_above_the_limit_ends_its_own_link_and_no_other(beside_a_rogue):
    rogue, peer, good, consumer = beside_a_rogue
    rogue.send_multipart([peer, message(7, samples=1 << 20)])
    good.offer(range(30))
    assert consumer.take(30) == list(range(30))
    while (answer := rogue.recv_multipart())[0] == peer:  # until it is hung up on, and may begin anew
        assert decode_header(answer[1]).kind in (Kind.PING, Kind.GRANT, Kind.RECALL)
    assert decode_header(answer[1]) == (Kind.HELLO, PROTOCOL_VERSION)
    assert len(consumer.broken) == 1
