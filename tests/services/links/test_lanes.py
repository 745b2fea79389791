"""Lanes on real sockets: a consumer receives examples of the lane that it names, and of no other."""

import pytest
import zmq
from rigs.links import Consumer, Producer
from rigs.waiting import eventually

from sonorant.links.wire import PROTOCOL_VERSION, Kind, decode_header, encode_header


def test_a_producer_of_another_lane_at_a_known_address_is_refused():
    before = Producer(lane_names=("vtlp of 1",))
    consumer = Consumer([before.endpoint], credits=2, lane_name="vtlp of 1")
    before.offer([0])
    assert consumer.take(1) == [0]
    port = int(before.endpoint.rpartition(":")[2])
    before.close()
    other = Producer(lane_names=("featurizer of 1",), port=port)
    other.offer([1])
    eventually(lambda: other.links.faults >= 2)  # it reconnects again and again
    assert consumer.linked == 0
    assert other.handed == []
    other.close()
    after = Producer(lane_names=("vtlp of 1",), port=port)
    after.offer([2])
    assert consumer.take(1) == [2]
    consumer.close()
    after.close()


@pytest.mark.parametrize("name", [b"", b"vtlp of 2", b"\xff\xfe", b"vtlp of 1" * 1000])
def test_a_consumer_that_names_another_lane_gets_bye(name):
    producer = Producer(lane_names=("vtlp of 1",))
    producer.offer([0])
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.connect(producer.endpoint)
        dealer.send(encode_header(Kind.HELLO, PROTOCOL_VERSION) + name)
        dealer.send(encode_header(Kind.GRANT, 1))
        assert decode_header(dealer.recv()).kind is Kind.BYE
        assert decode_header(dealer.recv()).kind is Kind.BYE
    assert producer.handed == []
    producer.close()


def test_a_consumer_receives_examples_of_its_lane_whether_other_lanes_have_credit_or_not():
    producer = Producer(lane_names=("rank 0", "rank 1", "rank 2"))
    first, last = (Consumer([producer.endpoint], credits=10, lane_name=f"rank {rank}") for rank in (0, 2))
    for lane in (1, 2, 0):
        producer.offer(range(lane * 10, lane * 10 + 3), lane=lane)
    assert first.take(3) == [0, 1, 2]
    assert last.take(3) == [20, 21, 22]
    late = Consumer([producer.endpoint], credits=2, lane_name="rank 1")
    assert late.take(3) == [10, 11, 12]
    for peer in (first, last, late, producer):
        peer.close()


def test_undelivered_examples_go_to_the_next_consumer_of_their_lane():
    producer = Producer(lane_names=("rank 0", "rank 1"))
    gone, other = (Consumer([producer.endpoint], credits=4, lane_name=f"rank {rank}") for rank in (0, 1))
    eventually(lambda: gone.linked and other.linked)
    gone.close()
    producer.offer([5, 6], lane=0)
    again = Consumer([producer.endpoint], credits=2, lane_name="rank 0")
    assert again.take(2) == [5, 6]
    assert other.inbox.empty()
    for peer in (other, again, producer):
        peer.close()
