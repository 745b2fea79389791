"""Producers and consumers of one process, over real sockets; and bare sockets that play one."""

import time
from queue import Empty, SimpleQueue

import numpy as np
import zmq
from rigs.waiting import PATIENCE_S

from services.links.consumer import ConsumerLinks
from services.links.loop import LinkLoop
from services.links.producer import ProducerLinks
from services.links.sockets import link_context
from services.links.zmq_message import memory_for
from sonorant.delivery.example import Example, Lineage
from sonorant.links.wire import (
    PROTOCOL_VERSION,
    Kind,
    Parcel,
    decode_header,
    encode_example,
    encode_header,
    join_examples,
)

DEAD_AFTER_S = 3.0  # the machine may be busy


def example(number, samples=16):
    return Example(Lineage(0, 0, number), f"u{number}", "", 8000, 1.0, waveform=np.full(samples, number, np.float32))


def parcel(number, samples=16, lane=0):
    made = Parcel(example(number, samples), lane=lane)
    made.write(memory_for(made.size))
    return made


def message(number, samples=16):
    """Return the message that brings one example."""
    return join_examples([encode_example(example(number, samples))], waiting=0)


class Producer:
    def __init__(self, dead_after_s=DEAD_AFTER_S, curve=None, lane_names=("",), port=0):
        self.context = link_context()
        self.handed = []
        self.broken = []
        self.links = ProducerLinks(
            self.context,
            "127.0.0.1",
            self.handed.append,
            port=port,
            dead_after_s=dead_after_s,
            on_broken=lambda: self.broken.append(True),
            curve=curve,
            lane_names=lane_names,
        )
        self.endpoint = self.links.endpoint
        self.crashes = []
        self.loop = LinkLoop()
        self.loop.start([self.links], self.crashes.append)

    def offer(self, numbers, samples=16, lane=0):
        for number in numbers:
            made = parcel(number, samples, lane)
            self.loop.post(lambda made=made: self.links.offer(made))

    def close(self):
        self.loop.stop()
        self.context.term()
        assert not self.crashes


class Consumer:
    """Takes examples into a queue, where `take` frees their slots; a hungry one frees them at once."""

    def __init__(
        self,
        endpoints,
        credits,
        dead_after_s=DEAD_AFTER_S,
        max_example_bytes=1 << 24,
        hungry=False,
        curve=None,
        lane_name="",
    ):
        self.context = link_context()
        self.inbox = SimpleQueue()
        self.eaten = []
        deliver = self._eat if hungry else self.inbox.put
        self.broken = []
        self.links = ConsumerLinks(
            self.context,
            deliver,
            dead_after_s=dead_after_s,
            max_example_bytes=max_example_bytes,
            on_broken=lambda: self.broken.append(True),
            curve=curve,
            lane_name=lane_name,
        )
        self.crashes = []
        self.loop = LinkLoop()
        self.loop.start([self.links], self.crashes.append)
        self.release(credits)
        self.list(endpoints)

    def _eat(self, example):
        self.eaten.append(example.lineage.index)
        self.release(1)

    def list(self, endpoints):
        self.loop.post(lambda: self.links.list_endpoints(endpoints, time.monotonic()))

    def release(self, count):
        self.loop.post(lambda: self.links.release(count))

    @property
    def linked(self):
        return self.links.producers

    def take(self, count):
        taken = []
        for _ in range(count):
            taken.append(self.inbox.get(timeout=PATIENCE_S).lineage.index)
            self.release(1)
        return taken

    def empty(self):
        """Take what is there, and free no slots."""
        taken = []
        while True:
            try:
                taken.append(self.inbox.get_nowait().lineage.index)
            except Empty:
                return taken

    def close(self):
        self.loop.stop()
        self.context.term()
        assert not self.crashes


def bare_producer(bare):
    router = bare(zmq.ROUTER)
    router.bind("tcp://127.0.0.1:*")
    return router, router.getsockopt_string(zmq.LAST_ENDPOINT)


def welcome(router):
    """Answer the HELLO, wait for the first GRANT; return the peer and its credit."""
    peer, hello = router.recv_multipart()
    assert decode_header(hello) == (Kind.HELLO, PROTOCOL_VERSION)
    router.send_multipart([peer, encode_header(Kind.WELCOME, PROTOCOL_VERSION)])
    while (header := decode_header(router.recv_multipart()[1])).kind is not Kind.GRANT:
        assert header.kind is Kind.PING
    return peer, header.number


def bare_consumer(bare, producer):
    dealer = bare(zmq.DEALER)
    dealer.connect(producer.endpoint)
    dealer.send(encode_header(Kind.HELLO, PROTOCOL_VERSION))
    assert decode_header(dealer.recv()) == (Kind.WELCOME, PROTOCOL_VERSION)
    return dealer
