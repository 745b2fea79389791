"""The pipeline's links between processes, with a consumer that can pause: it grants no more credit.

Producers are processes; the consumer is the process that makes a `LinksWay`.
"""

import itertools
import os
import threading
import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

import numpy as np
import zmq

from benchmarks.rigs.process import Main
from benchmarks.rigs.way import Producers, answer
from services.links import zmq_message
from services.links.consumer import ConsumerLinks
from services.links.loop import LinkLoop
from services.links.producer import ProducerLinks
from services.links.sockets import link_context
from services.links.zmq_message import memory_for
from services.stage.replica import COMPUTE_S
from sonorant.delivery.example import Example, Lineage
from sonorant.links.wire import Parcel

__all__ = ["CREDITS", "LinksWay", "produce_copied", "produce_uncopied", "resident_mb", "stand_idle", "take_slowly"]

CREDITS = 64  # at least, and two for each producer
_PER_ITERATION = CREDITS // 4  # examples between two polls of the links, as in a stage
_DEAD_AFTER_S = 30.0
_LARGEST_BYTES = 1 << 24


class LinksWay:
    """The pipeline's links: `producers` ROUTERs in processes that run `main`, and ConsumerLinks here.

    beside: other endpoints that the consumer has links to.
    """

    def __init__(self, samples: int, producers: int, main: Main | None = None, beside: Sequence[str] = ()) -> None:
        self._producers = Producers(main or produce_links, samples, producers)
        self.endpoints = self._producers.endpoints
        self.cpu_s = self._producers.cpu_s
        self._consumer = _LinksConsumer([*self.endpoints, *beside], max(CREDITS, 2 * producers))

    @property
    def taken(self) -> int:
        """See `Way`."""
        return self._consumer.taken

    @property
    def held(self) -> int:
        """Examples that came since the pause and still have their slots."""
        return self._consumer.held

    def go(self) -> None:
        """See `Way`."""
        self._consumer.going = True
        self._consumer.let_go()

    def pause(self) -> None:
        """See `Way`."""
        self._consumer.going = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        self._consumer.close()
        self._producers.close()


class _LinksConsumer:
    """Takes examples as fast as they come while it is `going`, and keeps them otherwise."""

    def __init__(self, endpoints: Iterable[str], credits: int) -> None:
        self.taken, self.going = 0, False
        self._kept: list[Example] = []
        self._context = link_context()
        self._links = ConsumerLinks(
            self._context, self._on_example, dead_after_s=_DEAD_AFTER_S, max_example_bytes=_LARGEST_BYTES
        )
        self._loop = LinkLoop()
        self._loop.start([self._links], _crash)
        listed = list(endpoints)
        self._loop.post(lambda: self._links.list_endpoints(listed, time.monotonic()))
        self._loop.post(lambda: self._links.release(credits))

    @property
    def held(self) -> int:
        return len(self._kept)

    def let_go(self) -> None:
        """Free the slots of examples that were kept."""
        self._loop.post(self._let_go)

    def close(self) -> None:
        self._loop.stop()
        self._context.term()

    def _let_go(self) -> None:
        count = len(self._kept)
        self._kept.clear()
        self._links.release(count)

    def _on_example(self, example: Example) -> None:
        assert example.waveform is not None
        if not self.going:
            self._kept.append(example)
            return
        self.taken += bool(example.waveform[-1])
        self._links.release(1)


def produce_links(connection: Connection, samples: int) -> None:
    """Encode the same waveform for ever, between iterations of the loop as a stage does, each with its own envelope."""
    waveform, numbers = np.full(samples, 0.5, np.float32), itertools.count()

    def work() -> bool:
        until_s, free = time.monotonic() + COMPUTE_S, _PER_ITERATION - links.waiting
        for _ in range(free):
            lineage = Lineage(0, 0, next(numbers))
            example = Example(lineage, "utterance", "text", 16000, samples / 16000, waveform=waveform)
            parcel = Parcel(example)
            parcel.write(memory_for(parcel.size))
            links.offer(parcel)
            if time.monotonic() > until_s:
                break
        return free > 0

    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    links = ProducerLinks(context, "127.0.0.1", lambda _: None, dead_after_s=_DEAD_AFTER_S)
    loop = LinkLoop()
    thread = threading.Thread(target=loop.run, args=([links], work))
    thread.start()
    answer(connection, links.endpoint)
    loop.stop()
    thread.join()


def produce_copied(connection: Connection, samples: int) -> None:
    """Produce, and let ZeroMQ copy messages of any size before it sends them."""
    zmq_message.OWN_ABOVE_BYTES = _LARGEST_BYTES
    produce_links(connection, samples)


def produce_uncopied(connection: Connection, samples: int) -> None:
    """Produce, and let ZeroMQ send messages of any size from the memory that they were written to."""
    zmq_message.OWN_ABOVE_BYTES = 0
    produce_links(connection, samples)


def stand_idle(connection: Connection, replicas: int) -> None:
    """Be `replicas` producers that have nothing to send; the answer is their endpoints, in one line."""
    context = link_context()
    links = [ProducerLinks(context, "127.0.0.1", lambda _: None, dead_after_s=_DEAD_AFTER_S) for _ in range(replicas)]
    loop = LinkLoop()
    thread = threading.Thread(target=loop.run, args=(links,))
    thread.start()
    answer(connection, " ".join(one.endpoint for one in links))
    loop.stop()
    thread.join()


def take_slowly(connection: Connection, endpoints: list[str], rest_s: float) -> None:
    """Take from links, with a rest after each look; the answer is how many examples came so far."""
    consumer, taken, done = _LinksConsumer(endpoints, 1), 0, threading.Event()

    def work() -> None:
        nonlocal taken
        while not done.wait(rest_s):
            taken += consumer.held
            consumer.let_go()

    worker = threading.Thread(target=work)
    worker.start()
    while connection.recv() is not None:
        connection.send(taken)
    done.set()
    worker.join()
    consumer.close()


def resident_mb() -> float:
    """Return what this process holds of the machine's memory."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _crash(error: Exception) -> None:
    raise error
