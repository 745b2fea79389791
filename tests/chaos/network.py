"""Network faults: proxies of links and of the coordinator, which cut, delay and freeze connections.

Every stage's endpoint is registered as that of a wire, so all examples come through here: by TCP, or by the local
address that consumers on one machine prefer, which every other wire has. Both keep the order within a connection; what
connections carry relative to each other is reordered by delaying each of them differently.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress

import grpc

from services.links.addresses import local_address
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["Network", "Relay", "Wire"]

_CHUNK = 1 << 16


class Wire:
    """One listening port whose connections lead to `endpoint`; `delay_s` is the longest delay of a connection's chunk.

    local: consumers find a local address that belongs to the port, and come to the one of `endpoint` by it.
    """

    def __init__(self, endpoint, local=False):
        self._there = endpoint
        self._local = local
        self.delay_s = 0.0
        self.flows = asyncio.Event()
        self.flows.set()
        self._writers = set()

    async def start(self):
        """Return the endpoint to announce instead."""
        server = await asyncio.start_server(self._connect_tcp, "127.0.0.1", 0)
        self._servers = [server]
        here = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        if self._local:
            self._servers.append(await asyncio.start_unix_server(self._connect_local, _abstract(here)))
        return here

    def cut(self):
        for writer in list(self._writers):
            writer.transport.abort()

    def close(self):
        for server in self._servers:
            server.close()
        self.cut()

    async def _connect_tcp(self, reader, writer):
        host, port = self._there.removeprefix("tcp://").rsplit(":", 1)
        await self._connect(reader, writer, asyncio.open_connection(host, int(port)))

    async def _connect_local(self, reader, writer):
        await self._connect(reader, writer, asyncio.open_unix_connection(_abstract(self._there)))

    async def _connect(self, reader, writer, reaching):
        try:
            far_reader, far_writer = await reaching
        except OSError:
            writer.transport.abort()
            return
        slowness = random.random()  # not the plan's: no replay could bring the same connections in the same order
        self._writers |= {writer, far_writer}
        try:
            both = [
                asyncio.create_task(self._copy(a, b, slowness)) for a, b in ((reader, far_writer), (far_reader, writer))
            ]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in both:
                task.cancel()
        finally:
            self._writers -= {writer, far_writer}
            writer.transport.abort()
            far_writer.transport.abort()

    async def _copy(self, reader, writer, slowness):
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                if self.delay_s:
                    await asyncio.sleep(slowness * self.delay_s)
                await self.flows.wait()
                writer.write(data)
                await writer.drain()


class Network:
    """The wires, by the endpoint that they lead to."""

    def __init__(self):
        self._wires = {}
        self._names = {}

    async def wire(self, endpoint):
        """Return the endpoint to announce instead of `endpoint`."""
        if endpoint not in self._names:
            self._wires[endpoint] = wire = Wire(endpoint, local=len(self._wires) % 2 == 1)
            self._names[endpoint] = await wire.start()
        return self._names[endpoint]

    def of(self, endpoints):
        return [self._wires[endpoint] for endpoint in endpoints if endpoint in self._wires]

    def close(self):
        for wire in self._wires.values():
            wire.close()


def _abstract(endpoint):
    return "\0" + local_address(endpoint).removeprefix("ipc://@")


class Relay(grpc.GenericRpcHandler):
    """A proxy of the coordinator: forwards every call, and replaces the endpoint of every registration by a wire's."""

    def __init__(self, network):
        self._network = network
        self.endpoints = {}  # by replica: its own endpoint
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers([self])

    async def start(self):
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        await self._server.start()

    def lead_to(self, coordinator):
        options = [("grpc.enable_http_proxy", 0)]
        options += [
            (f"grpc.{which}_reconnect_backoff_ms", ms) for which, ms in (("initial", 100), ("min", 100), ("max", 500))
        ]
        self._channel = grpc.aio.insecure_channel(coordinator, options=options)

    async def stop(self):
        await self._server.stop(0)
        await self._channel.close()

    def service(self, details):
        method = details.method
        if method.endswith("/WatchEndpoints"):

            async def watch(request: bytes, context) -> AsyncIterator[bytes]:
                try:
                    async for answer in self._channel.unary_stream(method)(request):
                        yield answer
                except grpc.aio.AioRpcError as error:
                    await context.abort(error.code(), error.details())

            return grpc.unary_stream_rpc_method_handler(watch)

        async def call(request: bytes, context) -> bytes:
            if method.endswith("/Register"):
                request = await self._wired(request)
            patient = method.endswith("/StartGeneration")
            try:
                return await self._channel.unary_unary(method)(
                    request, timeout=context.time_remaining(), wait_for_ready=patient
                )
            except grpc.aio.AioRpcError as error:
                await context.abort(error.code(), error.details())

        return grpc.unary_unary_rpc_method_handler(call)

    async def _wired(self, request):
        message = pb.RegisterRequest.FromString(request)
        if message.endpoint:
            self.endpoints[message.replica] = message.endpoint
            message.endpoint = await self._network.wire(message.endpoint)
        return message.SerializeToString()
