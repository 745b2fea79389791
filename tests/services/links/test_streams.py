"""An address that comes to belong to another stage brings nobody examples that they did not ask for."""

import pytest
import zmq
from rigs.links import Consumer, Producer
from rigs.small_corpus import digits_recipe
from rigs.waiting import eventually

from services.stage.wiring import TRAINER, stage_before, stream_names
from sonorant.links.wire import PROTOCOL_VERSION, Kind, decode_header, encode_header
from sonorant.recipe import Recipe


def test_a_producer_of_another_stream_at_a_known_address_is_not_taken_from():
    before = Producer(streams=("vtlp of 1",))
    consumer = Consumer([before.endpoint], credits=2, stream="vtlp of 1")
    before.offer([0])
    assert consumer.take(1) == [0]
    port = int(before.endpoint.rpartition(":")[2])
    before.close()
    other = Producer(streams=("featurizer of 1",), port=port)
    other.offer([1])
    eventually(lambda: other.links.faults >= 2)  # it asks again and again
    assert consumer.linked == 0
    assert other.handed == []
    other.close()
    after = Producer(streams=("vtlp of 1",), port=port)
    after.offer([2])
    assert consumer.take(1) == [2]
    consumer.close()
    after.close()


@pytest.mark.parametrize("name", [b"", b"vtlp of 2", b"\xff\xfe", b"vtlp of 1" * 1000])
def test_whoever_names_another_stream_is_told_goodbye(name):
    producer = Producer(streams=("vtlp of 1",))
    producer.offer([0])
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.connect(producer.endpoint)
        dealer.send(encode_header(Kind.HELLO, PROTOCOL_VERSION) + name)
        dealer.send(encode_header(Kind.GRANT, 1))
        assert decode_header(dealer.recv()).kind is Kind.BYE
        assert decode_header(dealer.recv()).kind is Kind.BYE
    assert producer.handed == []
    producer.close()


def test_a_consumer_gets_what_is_of_its_lane_whether_the_others_have_room_or_not():
    producer = Producer(streams=("rank 0", "rank 1", "rank 2"))
    first, last = (Consumer([producer.endpoint], credits=10, stream=f"rank {rank}") for rank in (0, 2))
    for lane in (1, 2, 0):
        producer.offer(range(lane * 10, lane * 10 + 3), lane=lane)
    assert first.take(3) == [0, 1, 2]
    assert last.take(3) == [20, 21, 22]
    late = Consumer([producer.endpoint], credits=2, stream="rank 1")
    assert late.take(3) == [10, 11, 12]
    for peer in (first, last, late, producer):
        peer.close()


def test_what_a_consumer_did_not_get_goes_to_the_next_one_of_its_lane():
    producer = Producer(streams=("rank 0", "rank 1"))
    gone, other = (Consumer([producer.endpoint], credits=4, stream=f"rank {rank}") for rank in (0, 1))
    eventually(lambda: gone.linked and other.linked)
    gone.close()
    producer.offer([5, 6], lane=0)
    again = Consumer([producer.endpoint], credits=2, stream="rank 0")
    assert again.take(2) == [5, 6]
    assert other.inbox.empty()
    for peer in (other, again, producer):
        peer.close()


def test_only_a_strict_order_of_several_ranks_has_a_stream_for_each_and_only_before_the_trainer():
    def streams(stage, order, ranks):
        changes = {"pipeline": {"order": order}, "training": {"ranks": ranks}}
        return stream_names(Recipe.model_validate(digits_recipe().model_dump(mode="json") | changes), stage)

    last = stage_before(digits_recipe(), TRAINER)
    (one,) = streams(last, "strict", 1)
    assert streams(last, "fast", 3) == (one,)
    assert streams(last, "strict", 3) == tuple(f"{one}, rank {rank} of 3" for rank in range(3))
    assert len(streams("shard_reader", "strict", 3)) == 1


def test_streams_differ_in_all_that_decides_what_an_example_is():
    recipe = digits_recipe()

    def name(**changes):
        return stream_names(Recipe.model_validate(recipe.model_dump(mode="json") | changes), "vtlp")

    training = recipe.training.model_dump(mode="json") | {"epochs": 77}
    assert name(training=training, pipeline={"replicas": {"shard_reader": 3}}) == name()
    rounded = {"payload": {"features": "float16"}}
    assert len({name(), name(seed=9), name(pipeline=rounded), name(stages=[{"stage": "vtlp"}])}) == 4
    assert stream_names(recipe, "room") != name()
