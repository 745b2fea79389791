"""Wires carry what links do, by TCP and by the local way, and what is done to them happens to links."""

import asyncio
import threading
from contextlib import contextmanager

import pytest
from chaos.network import Network
from rigs.links import Consumer, Producer
from rigs.waiting import eventually

from services.links.addresses import local_address, nearest_address


@contextmanager
def network_in_a_thread():
    """A network, and a function that runs something in its loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def call(function, *arguments):
        return function(*arguments)

    network = Network()
    try:
        yield network, lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(20), call
    finally:
        asyncio.run_coroutine_threadsafe(call(network.close), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.parametrize("local", [False, True], ids=["tcp", "local"])
def test_examples_pass_a_wire_and_a_cut_ends_the_link(local):
    with network_in_a_thread() as (network, run, call):
        producers = [Producer(), Producer()]
        endpoints = [run(network.wire(producer.endpoint)) for producer in producers]
        producer, endpoint = producers[local], endpoints[local]
        assert nearest_address(endpoint) == (local_address(endpoint) if local else endpoint)
        consumer = Consumer([endpoint], credits=3)
        producer.offer([1, 2, 3])
        assert consumer.take(3) == [1, 2, 3]
        for wire in network.of([producer.endpoint]):
            run(call(wire.cut))
        eventually(lambda: consumer.broken and producer.links.faults)
        producer.offer([4, 5])
        assert sorted(consumer.take(2)) == [4, 5]  # they link again, by the same way
        for member in (consumer, *producers):
            member.close()
