"""An address that comes to belong to another stage brings nobody examples that they did not ask for."""

import pytest
import zmq
from links_rig import Consumer, Producer, eventually
from small_corpus import digits_recipe

from services.runtime.wiring import stream_name
from sonorant.pipeline.wire import PROTOCOL_VERSION, Kind, decode_header, encode_header
from sonorant.recipe import Recipe


def test_a_producer_of_another_stream_at_a_known_address_is_not_taken_from():
    before = Producer(stream="vtlp of 1")
    consumer = Consumer([before.endpoint], credits=2, stream="vtlp of 1")
    before.offer([0])
    assert consumer.take(1) == [0]
    port = int(before.endpoint.rpartition(":")[2])
    before.close()
    other = Producer(stream="featurizer of 1", port=port)
    other.offer([1])
    eventually(lambda: other.links.faults >= 2)  # it asks again and again
    assert consumer.linked == 0
    assert other.handed == []
    other.close()
    after = Producer(stream="vtlp of 1", port=port)
    after.offer([2])
    assert consumer.take(1) == [2]
    consumer.close()
    after.close()


@pytest.mark.parametrize("name", [b"", b"vtlp of 2", b"\xff\xfe", b"vtlp of 1" * 1000])
def test_whoever_names_another_stream_is_told_goodbye(name):
    producer = Producer(stream="vtlp of 1")
    producer.offer([0])
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.connect(producer.endpoint)
        dealer.send(encode_header(Kind.HELLO, PROTOCOL_VERSION) + name)
        dealer.send(encode_header(Kind.GRANT, 1))
        assert decode_header(dealer.recv()).kind is Kind.BYE
        assert decode_header(dealer.recv()).kind is Kind.BYE
    assert producer.handed == []
    producer.close()


def test_streams_differ_in_all_that_decides_what_an_example_is():
    recipe = digits_recipe()

    def name(**changes):
        return stream_name(Recipe.model_validate(recipe.model_dump(mode="json") | changes), "vtlp")

    training = recipe.training.model_dump(mode="json") | {"epochs": 77}
    assert name(training=training, pipeline={"replicas": {"shard_reader": 3}}) == name()
    rounded = {"payload": {"features": "float16"}}
    assert len({name(), name(seed=9), name(pipeline=rounded), name(stages=[{"stage": "vtlp"}])}) == 4
    assert stream_name(recipe, "room") != name()
