"""Two ways to carry arrays between processes: sonorant's links, and gRPC's server streams.

Producers are processes; the consumer is the process that makes a `LinksWay` or a `GrpcWay`. Both ways can pause: links
by granting no more credit, gRPC by not reading its streams.
"""

import itertools
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Protocol, Self

import grpc
import numpy as np
import structlog
import zmq

from benchmarks.rigs.process import Child, Main
from services.runtime.bundles import Parcel
from services.runtime.downstream import DownstreamLinks
from services.runtime.link_loop import LinkLoop
from services.runtime.stage import TURN_S
from services.runtime.upstream import UpstreamLinks
from sonorant.pipeline.example import Example, Lineage
from sonorant.pipeline.wire import encode_example

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))  # children log to the terminal

__all__ = ["CREDITS", "GrpcWay", "LinksWay", "Way", "resident_mb", "take_slowly"]

CREDITS = 64
_AHEAD = 8  # examples that a producer keeps ready
_DEAD_AFTER_S = 30.0
_LARGEST_BYTES = 1 << 24
_METHOD = "/bench.Source/Stream"
_GRPC_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Way(Protocol):
    """A consumer and its producers."""

    @property
    def taken(self) -> int:
        """Examples that came so far."""
        ...

    def go(self) -> None:
        """Let examples come."""
        ...

    def pause(self) -> None:
        """Let none come beyond those under way."""
        ...

    def cpu_s(self) -> float:
        """Return the CPU seconds of all processes so far."""
        ...


class _Producers:
    """Producers' processes and their endpoints."""

    def __init__(self, main: Main, samples: int, count: int) -> None:
        self._exit = ExitStack()
        self._children = [self._exit.enter_context(Child(main, samples)) for _ in range(count)]
        self.endpoints: list[str] = [child.ask("endpoint") for child in self._children]

    def cpu_s(self) -> float:
        """Return their CPU seconds and this process'."""
        return time.process_time() + sum(float(child.ask("cpu")) for child in self._children)

    def close(self) -> None:
        """End them."""
        self._exit.close()


class LinksWay:
    """The pipeline's links: `producers` ROUTERs in processes of their own, and UpstreamLinks here."""

    def __init__(self, samples: int, producers: int) -> None:
        self._producers = _Producers(produce_links, samples, producers)
        self.endpoints = self._producers.endpoints
        self.cpu_s = self._producers.cpu_s
        self._consumer = _LinksConsumer(self.endpoints, CREDITS)

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
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._links = UpstreamLinks(
            self._context, self._on_example, dead_after_s=_DEAD_AFTER_S, max_example_bytes=_LARGEST_BYTES
        )
        self._loop = LinkLoop([self._links])
        self._loop.start(_crash)
        listed = list(endpoints)
        self._loop.post(lambda: self._links.list_endpoints(listed, time.monotonic()))
        self._loop.post(lambda: self._links.release(credits))

    @property
    def held(self) -> int:
        return len(self._kept)

    def let_go(self) -> None:
        """Make room again where examples were kept."""
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


class GrpcWay:
    """One server stream for each producer, read by a thread each, as grpc's synchronous Python is used."""

    def __init__(self, samples: int, producers: int) -> None:
        self._producers = _Producers(produce_grpc, samples, producers)
        self.cpu_s = self._producers.cpu_s
        self._going, self._counts = threading.Event(), [0] * producers
        self._channels = [
            grpc.insecure_channel(e, [*_GRPC_OPTIONS, ("grpc.enable_http_proxy", 0)]) for e in self._producers.endpoints
        ]
        for number, channel in enumerate(self._channels):
            threading.Thread(target=self._read, args=(number, channel.unary_stream(_METHOD)), daemon=True).start()

    @property
    def taken(self) -> int:
        """See `Way`."""
        return sum(self._counts)

    def go(self) -> None:
        """See `Way`."""
        self._going.set()

    def pause(self) -> None:
        """See `Way`."""
        self._going.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        for channel in self._channels:
            channel.close()
        self._going.set()
        self._producers.close()

    def _read(self, number: int, stream: "grpc.UnaryStreamMultiCallable[bytes, bytes]") -> None:
        try:
            for message in stream(b""):
                self._counts[number] += bool(np.frombuffer(message, np.float32)[-1])
                self._going.wait()
        except grpc.RpcError:  # the channel was closed
            return


def produce_links(connection: Connection, samples: int) -> None:
    """Encode the same waveform for ever, between the turns of the loop as a stage does, each with its own envelope."""
    waveform, numbers = np.full(samples, 0.5, np.float32), itertools.count()

    def work() -> bool:
        until_s, worked = time.monotonic() + TURN_S, False
        while links.waiting < _AHEAD and time.monotonic() < until_s:
            lineage = Lineage(0, 0, next(numbers))
            example = Example(lineage, "utterance", "text", 16000, samples / 16000, waveform=waveform)
            links.offer(Parcel(encode_example(example), audio_s=example.duration_s))
            worked = True
        return worked

    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    links = DownstreamLinks(context, "127.0.0.1", lambda _: None, dead_after_s=_DEAD_AFTER_S)
    loop = LinkLoop([links])
    thread = threading.Thread(target=loop.run, args=(work,))
    thread.start()
    _answer(connection, links.endpoint)
    loop.stop()
    thread.join()


def produce_grpc(connection: Connection, samples: int) -> None:
    """Stream the same bytes for ever to whoever asks."""
    message = np.full(samples, 0.5, np.float32).tobytes()

    def stream(_request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        while context.is_active():
            yield message

    class Handler(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes] | None":
            return grpc.unary_stream_rpc_method_handler(stream)

    server = grpc.server(ThreadPoolExecutor(2), handlers=[Handler()], options=_GRPC_OPTIONS)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    _answer(connection, f"127.0.0.1:{port}")
    server.stop(None)


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


def _answer(connection: Connection, endpoint: str) -> None:
    while (question := connection.recv()) is not None:
        connection.send(endpoint if question == "endpoint" else time.process_time())


def _crash(error: Exception) -> None:
    raise error
