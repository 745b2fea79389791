"""How many replicas of a stage one process can be linked to."""

import resource
import time

import zmq

from services.links.consumer import ConsumerLinks
from services.links.sockets import link_context
from sonorant.links.wire import PROTOCOL_VERSION, Kind, decode_header, encode_header

REPLICAS = 450


def test_a_consumer_is_linked_to_450_replicas():
    """One socket stands in for all of them, at as many addresses."""
    with zmq.Context() as theirs, theirs.socket(zmq.ROUTER) as router:
        router.linger = 0
        endpoints = []
        for _ in range(REPLICAS):
            router.bind("ipc://*")
            endpoints.append(router.getsockopt_string(zmq.LAST_ENDPOINT))
        context = link_context()
        links = ConsumerLinks(context, lambda _: None, dead_after_s=60.0, max_example_bytes=1000)
        links.release(REPLICAS)
        links.list_endpoints(endpoints, time.monotonic())
        greeted = set()
        while len(greeted) < REPLICAS:
            assert router.poll(20_000), f"{len(greeted)} links"
            peer, message = router.recv_multipart()
            assert decode_header(message) == (Kind.HELLO, PROTOCOL_VERSION)
            greeted.add(peer)
            router.send_multipart([peer, encode_header(Kind.WELCOME, PROTOCOL_VERSION)])
        links.close()
        context.term()


def test_a_process_may_have_as_many_sockets_as_open_files(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 50_000))
    raised = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: raised.append(limits))
    with link_context() as context:
        assert context.get(zmq.MAX_SOCKETS) == 50_000
    assert raised == [(50_000, 50_000)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with link_context() as context:
        assert context.get(zmq.MAX_SOCKETS) == context.get(zmq.SOCKET_LIMIT)
    assert len(raised) == 1
