"""Links over real sockets."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import zmq
from rigs import links as links_rig
from rigs.links import Consumer, Producer, bare_consumer, bare_producer, message, welcome
from rigs.waiting import eventually

from services.links.addresses import local_address, nearest_address
from sonorant.links.wire import Kind, decode_counts, decode_examples, decode_header, encode_header


@pytest.mark.parametrize(("producers", "consumers"), [(1, 1), (3, 1), (1, 3), (3, 3)])
def test_every_example_arrives_once(rig, producers, consumers):
    made = [rig(Producer()) for _ in range(producers)]
    endpoints = [producer.endpoint for producer in made]
    taking = [rig(Consumer(endpoints, credits=4, hungry=True)) for _ in range(consumers)]
    for number, producer in enumerate(made):
        producer.offer(range(number * 100, number * 100 + 100))
    eventually(lambda: sum(len(consumer.eaten) for consumer in taking) >= 100 * producers)
    assert sorted(n for consumer in taking for n in consumer.eaten) == list(range(100 * producers))


def test_a_consumer_without_room_gets_no_more_than_its_credits(rig):
    producer = rig(Producer())
    producer.offer(range(20))
    consumer = rig(Consumer([producer.endpoint], credits=3))
    eventually(lambda: consumer.inbox.qsize() == 3)
    busy = rig(Consumer([producer.endpoint], credits=1))
    assert sorted(busy.take(17)) == list(range(3, 20))  # all beyond the slots of the first, while it stood still
    assert consumer.empty() == [0, 1, 2]


def receive_bundle(dealer):
    """Return the examples of the next message that has some, and how many others wait."""
    while (header := decode_header(message := dealer.recv())).kind is not Kind.EXAMPLES:
        assert header.kind is Kind.BACKLOG
    count, waiting = decode_counts(header.number)
    return [e.lineage.index for e in decode_examples(memoryview(message), count)], waiting


def test_small_examples_that_wait_share_a_message_as_far_as_credit_and_bounds_go(rig, bare):
    producer = rig(Producer(dead_after_s=60.0))  # the bare one gives no sign of life
    dealer = bare_consumer(bare, producer)
    producer.offer(range(100))
    eventually(lambda: producer.links.waiting == 100)
    dealer.send(encode_header(Kind.GRANT, 5))
    assert receive_bundle(dealer) == ([0, 1, 2, 3, 4], 95)
    dealer.send(encode_header(Kind.GRANT, 95))
    assert receive_bundle(dealer) == (list(range(5, 69)), 31)
    assert receive_bundle(dealer) == (list(range(69, 100)), 0)
    producer.offer(range(100, 105), samples=6000)  # 24 KB each
    eventually(lambda: producer.links.waiting == 5)
    dealer.send(encode_header(Kind.GRANT, 5))
    assert [receive_bundle(dealer)[0] for _ in range(3)] == [[100, 101], [102, 103], [104]]


def test_an_example_that_is_sent_from_its_own_memory_arrives_whole(rig):
    """ZeroMQ does not copy large messages; the next one must not be encoded to the same memory before they are gone."""
    producer = rig(Producer())
    consumer = rig(Consumer([producer.endpoint], 2))
    for number in range(6):
        producer.offer([number], samples=400_000)
    for number in range(6):
        arrived = consumer.inbox.get(timeout=links_rig.PATIENCE_S)
        assert (arrived.waveform == number).all()
        assert arrived.waveform.size == 400_000
        consumer.release(1)


def test_what_travels_alone_is_written_to_zeromq_s_memory_and_what_is_bundled_is_not():
    assert links_rig.parcel(0, samples=25_000).memory is not None  # 100 KB
    assert links_rig.parcel(0, samples=10_000).memory is None


def test_an_example_that_is_alone_leaves_at_once(rig, bare):
    producer = rig(Producer(dead_after_s=60.0))  # the bare one gives no sign of life
    dealer = bare_consumer(bare, producer)
    dealer.send(encode_header(Kind.GRANT, 50))
    for number in range(3):
        producer.offer([number])
        assert receive_bundle(dealer) == ([number], 0)


def test_a_single_credit_serves_whichever_producer_has_something(rig):
    producers = [rig(Producer()) for _ in range(4)]
    consumer = rig(Consumer([p.endpoint for p in producers], credits=1))
    for number in (2, 0, 3, 3, 1):
        producers[number].offer([number])
        assert consumer.take(1) == [number]


class Wire:
    """A TCP connection through this process, which can be cut."""

    def __init__(self, endpoint):
        self.target = ("127.0.0.1", int(endpoint.rpartition(":")[2]))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ends = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(self.target)
                self.ends += [near, far]
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(a, b), daemon=True).start()

    def _copy(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)

    def cut(self):
        while self.ends:
            end = self.ends.pop()
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self):
        self.listener.close()
        self.cut()


def test_a_cut_link_is_noticed_at_once_on_both_sides_reported_and_opened_afresh(rig):
    producer = rig(Producer(dead_after_s=60.0))
    wire = rig(Wire(producer.endpoint))
    consumer = rig(Consumer([wire.endpoint], credits=4, dead_after_s=60.0, hungry=True))
    producer.offer(range(10))
    eventually(lambda: len(consumer.eaten) == 10)
    wire.cut()
    eventually(lambda: consumer.broken and producer.links.faults)  # what was sent between would be lost with the link
    producer.offer(range(10, 20))
    eventually(lambda: consumer.eaten == list(range(20)))
    assert len(consumer.broken) == len(producer.broken) == 1


def test_what_came_before_the_cut_is_not_thrown_away(bare, rig):
    router, endpoint = bare_producer(bare)
    wire = rig(Wire(endpoint))
    consumer = rig(Consumer([wire.endpoint], credits=3))
    peer, credit = welcome(router)
    assert credit == 3
    consumer.loop.post(lambda: threading.Event().wait(0.5))  # it does not read while all that happens
    for number in range(3):
        router.send_multipart([peer, message(number)])
    threading.Event().wait(0.2)
    wire.cut()
    assert consumer.take(3) == [0, 1, 2]


def test_a_link_that_ends_with_bye_is_not_broken(rig):
    producer = Producer()
    consumer = rig(Consumer([producer.endpoint], credits=2))
    producer.offer([0])
    assert consumer.take(1) == [0]
    drained = threading.Event()
    producer.loop.post(lambda: producer.links.drain(drained.set))
    assert drained.wait(links_rig.PATIENCE_S)
    producer.close()
    eventually(lambda: not consumer.linked)
    assert not consumer.broken
    assert not producer.broken


def test_a_consumer_that_goes_before_it_was_sent_anything_breaks_no_link(rig, bare):
    producer = rig(Producer(dead_after_s=0.5))
    bare_consumer(bare, producer).close()
    eventually(lambda: not producer.links.consumers)
    consumer = rig(Consumer([producer.endpoint], credits=1))
    producer.offer([0])
    assert consumer.take(1) == [0]
    assert not producer.broken


def test_what_a_killed_consumer_had_no_time_to_ask_for_goes_to_another(rig):
    producer = rig(Producer())
    program = (
        "import sys; from services.process.logging import configure_logging; configure_logging('doomed');"
        "from rigs.links import Consumer; c = Consumer([sys.argv[1]], credits=2);"
        "print(c.inbox.get().lineage.index, flush=True); c.inbox.get(); c.inbox.get()"
    )
    folder = str(Path(links_rig.__file__).parents[1])
    producer.offer(range(10))
    doomed = subprocess.Popen(
        [sys.executable, "-c", program, producer.endpoint],
        env=os.environ | {"PYTHONPATH": folder},
        stdout=subprocess.PIPE,
    )
    assert doomed.stdout.readline() == b"0\n"
    eventually(lambda: len(producer.handed) == 2)
    doomed.send_signal(signal.SIGKILL)
    doomed.wait()
    doomed.stdout.close()
    healthy = rig(Consumer([producer.endpoint], credits=4))
    assert healthy.take(8) == list(range(2, 10))
    eventually(lambda: producer.links.consumers == 1)  # and the dead one is forgotten


def test_a_consumer_reconnects_to_a_producer_that_took_it_for_dead(rig):
    producer = rig(Producer(dead_after_s=0.5))
    consumer = rig(Consumer([producer.endpoint], credits=2, dead_after_s=0.5))
    producer.offer([0])
    assert consumer.take(1) == [0]
    taken_for_dead = threading.Event()
    consumer.loop.post(lambda: taken_for_dead.wait(20))
    eventually(lambda: not producer.links.consumers)
    taken_for_dead.set()
    producer.offer([1, 2, 3])
    assert consumer.take(3) == [1, 2, 3]


def test_a_silent_producer_loses_its_credit_to_the_others(rig, bare):
    mute, endpoint = bare_producer(bare)
    consumer = rig(Consumer([endpoint], credits=2, dead_after_s=1.0))
    assert welcome(mute)[1] == 2
    producer = rig(Producer())
    producer.offer(range(5))
    consumer.list([endpoint, producer.endpoint])
    assert consumer.take(5) == list(range(5))


def test_an_unlisted_producer_is_heard_to_its_end(rig):
    producer = rig(Producer())
    consumer = rig(Consumer([producer.endpoint], credits=1))
    producer.offer(range(5))
    assert consumer.take(1) == [0]
    consumer.list([])
    assert consumer.take(4) == [1, 2, 3, 4]


def test_a_producer_that_drains_delivers_what_it_sent_and_is_dropped_at_once(rig):
    producer = Producer(dead_after_s=60.0)
    consumer = rig(Consumer([producer.endpoint], credits=8, dead_after_s=60.0))
    producer.offer(range(8), samples=50_000)
    eventually(lambda: len(producer.handed) == 8)
    consumer.list([])
    drained = threading.Event()
    producer.loop.post(lambda: producer.links.drain(drained.set))
    assert drained.wait(10)
    producer.close()
    assert consumer.take(8) == list(range(8))
    eventually(lambda: not consumer.links.sockets())


def test_a_consumer_s_drain_ends_when_all_credit_is_back_and_loses_nothing(rig):
    producer = rig(Producer())
    consumer = rig(Consumer([producer.endpoint], credits=6))
    producer.offer(range(4))
    eventually(lambda: consumer.inbox.qsize() == 4)
    drained = threading.Event()
    consumer.loop.post(lambda: consumer.links.drain(drained.set, time.monotonic()))
    assert drained.wait(10)
    producer.offer(range(4, 6))
    another = rig(Consumer([producer.endpoint], credits=2))
    assert another.take(2) == [4, 5]
    assert consumer.empty() == [0, 1, 2, 3]


def test_a_connection_without_hello_and_a_consumer_that_sends_bye_are_no_fault(rig):
    producer = rig(Producer())
    consumer = Consumer([producer.endpoint], credits=2)
    producer.offer([0])
    assert consumer.take(1) == [0]
    assert nearest_address(producer.endpoint) == local_address(producer.endpoint)
    consumer.close()
    eventually(lambda: not producer.links.consumers)
    another = rig(Consumer([producer.endpoint], credits=2))
    producer.offer([1])
    assert another.take(1) == [1]
    assert producer.links.faults == 0


def test_a_consumer_on_the_same_machine_comes_by_the_local_address(rig):
    producer = rig(Producer())
    consumer = rig(Consumer([producer.endpoint], credits=2))
    eventually(lambda: consumer.linked == 1)
    dealer, _monitor = consumer.links.sockets()
    assert dealer.getsockopt_string(zmq.LAST_ENDPOINT) == local_address(producer.endpoint)


def test_a_local_address_that_another_user_holds_is_left_alone(rig, monkeypatch):
    producer = rig(Producer())
    assert nearest_address(producer.endpoint) == local_address(producer.endpoint)
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    assert nearest_address(producer.endpoint) == producer.endpoint


def test_a_producer_without_a_local_address_is_reached_by_tcp(rig):
    with socket.socket(socket.AF_UNIX) as squatter, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        squatter.bind("\0" + local_address(endpoint).removeprefix("ipc://@"))  # and does not listen
        assert nearest_address(endpoint) == endpoint
