"""Peers of the pipeline's links: gRPC's server streaming, and bare ZeroMQ.

Both pause by reading no more.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

import grpc
import numpy as np
import zmq

from benchmarks.rigs.process import Main
from benchmarks.rigs.way import Producers, answer
from services.links.addresses import local_address

__all__ = ["GrpcWay", "ZeroMqWay"]

_METHOD = "/bench.Source/Stream"
_GRPC_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_QUEUED = 8  # messages at either end of a connection
_LOOK_MS = 1000  # between looks at the end of the benchmark: rare, so that waiting ways cost the measured one nothing


class _Pausing:
    """Producers' processes, and readers that read on while `_going` is set."""

    def __init__(self, main: Main, samples: int, producers: int) -> None:
        self._producers = Producers(main, samples, producers)
        self.cpu_s = self._producers.cpu_s
        self._going = threading.Event()

    def go(self) -> None:
        """See `Way`."""
        self._going.set()

    def pause(self) -> None:
        """See `Way`."""
        self._going.clear()

    def __enter__(self) -> Self:
        return self


class GrpcWay(_Pausing):
    """One call with server streaming for each producer, read by a thread each, as grpc's synchronous Python is used."""

    def __init__(self, samples: int, producers: int) -> None:
        super().__init__(produce_grpc, samples, producers)
        self._counts = [0] * producers
        self._channels = [
            grpc.insecure_channel(e, [*_GRPC_OPTIONS, ("grpc.enable_http_proxy", 0)]) for e in self._producers.endpoints
        ]
        for number, channel in enumerate(self._channels):
            threading.Thread(target=self._read, args=(number, channel.unary_stream(_METHOD)), daemon=True).start()

    @property
    def taken(self) -> int:
        """See `Way`."""
        return sum(self._counts)

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        for channel in self._channels:
            channel.close()
        self._going.set()
        self._producers.close()

    def _read(self, number: int, call: "grpc.UnaryStreamMultiCallable[bytes, bytes]") -> None:
        try:
            for message in call(b""):
                self._counts[number] += bool(np.frombuffer(message, np.float32)[-1])
                self._going.wait()
        except grpc.RpcError:  # the channel was closed
            return


class ZeroMqWay(_Pausing):
    """A PUSH socket for each producer, and one PULL socket here: the least that carries messages between processes.

    No envelope, no credit, no sign of life; over Unix sockets, as links between processes of one machine.
    """

    def __init__(self, samples: int, producers: int) -> None:
        super().__init__(produce_zeromq, samples, producers)
        self.taken = 0
        self._over = False
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._reader = threading.Thread(target=self._read, args=(self._producers.endpoints,), daemon=True)
        self._reader.start()

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        self._over = True
        self._going.set()
        self._reader.join()
        self._context.term()
        self._producers.close()

    def _read(self, endpoints: list[str]) -> None:
        with self._context.socket(zmq.PULL) as pull:
            pull.setsockopt(zmq.RCVHWM, _QUEUED)
            for endpoint in endpoints:
                pull.connect(endpoint)
            while not self._over:
                self._going.wait()
                if pull.poll(_LOOK_MS):
                    frame = pull.recv(copy=False)
                    self.taken += bool(np.frombuffer(frame.buffer, np.float32)[-1])


def produce_zeromq(connection: Connection, samples: int) -> None:
    """Push the same samples for ever, from memory that is written anew for each message, as an encoder writes it."""
    waveform, over = np.full(samples, 0.5, np.float32), threading.Event()
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    push = context.socket(zmq.PUSH)
    push.setsockopt(zmq.SNDHWM, _QUEUED)
    push.setsockopt(zmq.LINGER, 0)
    push.bind("tcp://127.0.0.1:*")
    address = local_address(push.getsockopt_string(zmq.LAST_ENDPOINT))
    push.bind(address)

    def work() -> None:
        while not over.is_set():
            if push.poll(_LOOK_MS, zmq.POLLOUT):
                push.send(waveform.copy().data)
        push.close()

    worker = threading.Thread(target=work)
    worker.start()
    answer(connection, address)
    over.set()
    worker.join()
    context.term()


def produce_grpc(connection: Connection, samples: int) -> None:
    """Send the same bytes for ever to each client."""
    message = np.full(samples, 0.5, np.float32).tobytes()

    def messages(_request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        while context.is_active():
            yield message

    class Handler(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes] | None":
            return grpc.unary_stream_rpc_method_handler(messages)

    server = grpc.server(ThreadPoolExecutor(2), handlers=[Handler()], options=_GRPC_OPTIONS)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    answer(connection, f"127.0.0.1:{port}")
    server.stop(None)
