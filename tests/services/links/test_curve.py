"""Links that only the fleet's key opens."""

import contextlib

import pytest
import zmq
from rigs.links import Consumer, Producer
from rigs.log import WrittenLog
from rigs.waiting import eventually

from services.links import curve, producer
from services.process.keys import CurvePair
from sonorant.links.wire import PROTOCOL_VERSION, Kind, encode_header

FLEET, OTHER = CurvePair.of(bytes(range(32))), CurvePair.of(bytes(range(1, 33)))


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def logs(monkeypatch):
    written = WrittenLog()
    for module in (curve, producer):
        monkeypatch.setattr(module, "log", written)
    return written.entries


def start(stack, consumer_curve, producer_curve):
    producer = Producer(curve=producer_curve)
    stack.callback(producer.close)
    producer.offer([1, 2, 3])
    consumer = Consumer([producer.endpoint], 3, curve=consumer_curve)
    stack.callback(consumer.close)
    return producer, consumer


def test_with_the_fleet_s_key_examples_travel(stack):
    _, consumer = start(stack, FLEET, FLEET)
    assert consumer.take(3) == [1, 2, 3]


@pytest.mark.parametrize(
    ("consumer_curve", "producer_curve", "refused"),
    [(OTHER, FLEET, True), (None, FLEET, True), (FLEET, OTHER, True), (FLEET, None, False)],
    ids=["another key", "no key", "a producer with another", "a producer without"],
)
def test_without_it_nothing_comes_and_the_refusal_is_logged(stack, logs, consumer_curve, producer_curve, refused):
    producer, consumer = start(stack, consumer_curve, producer_curve)
    if refused:
        eventually(lambda: any(entry["event"] == "link_refused" for entry in logs))
    # Somebody who may link is served meanwhile, so the others had their time.
    friend = Consumer([producer.endpoint], 3, curve=producer_curve)
    stack.callback(friend.close)
    assert friend.take(3) == [1, 2, 3]
    assert consumer.empty() == []
    assert consumer.linked == 0


def test_who_knows_the_server_s_public_key_is_asked_for_its_own(stack, logs):
    producer = Producer(curve=FLEET)
    stack.callback(producer.close)
    context = stack.enter_context(zmq.Context())
    dealer = stack.enter_context(context.socket(zmq.DEALER))
    dealer.curve_serverkey = FLEET.public
    dealer.curve_publickey, dealer.curve_secretkey = OTHER.public, OTHER.secret
    dealer.setsockopt(zmq.LINGER, 0)
    dealer.connect(producer.endpoint)
    dealer.send(encode_header(Kind.HELLO, PROTOCOL_VERSION))
    eventually(lambda: any("another key" in entry.get("reason", "") for entry in logs))
    assert not dealer.poll(100)
