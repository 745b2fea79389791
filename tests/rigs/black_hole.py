"""A proxy that can fall silent, as after a cable is cut, or break its connections, as when a phone changes networks."""

import asyncio
import sys
from contextlib import asynccontextmanager, suppress


class Proxy:
    """Connects its clients to `port`, which may change."""

    def __init__(self, port):
        self.port = port
        self.out_of_reach = False  # each connection breaks
        self._through = asyncio.Event()
        self._through.set()
        self._tasks = set()
        self._writers = []
        self._most = sys.maxsize  # bytes of a WebSocket's answers that get through

    def cut(self):
        """Let nothing more through."""
        self._through.clear()

    def break_connections(self):
        """Break those that are open."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def break_after(self, count):
        """Break those that are open when so many bytes have come in answers of a WebSocket, behind its handshake."""
        self._most = count

    async def serve(self, reader, writer):
        """Connect a client with the server."""
        if self.out_of_reach:
            return writer.transport.abort()
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writers += [writer, other_writer]
        for source, target, is_answer in ((reader, other_writer, False), (other_reader, writer, True)):
            self._tasks.add(asyncio.create_task(self._pump(source, target, is_answer)))

    async def _pump(self, source, target, is_answer):
        counts = False
        with suppress(ConnectionError):
            while data := await source.read(65536):
                await self._through.wait()
                head = data.find(b"\r\n\r\n") + 4 if is_answer and data.startswith(b"HTTP/1.1 101 ") else 0
                counts |= head > 0
                if counts and len(data) > head + self._most:
                    return await self._break_behind(data[: head + self._most], target)
                if counts:
                    self._most -= len(data) - head
                target.write(data)
                await target.drain()

    async def _break_behind(self, data, target):
        target.transport.set_write_buffer_limits(0)  # drained is sent
        target.write(data)
        await target.drain()
        self._most = sys.maxsize
        self.break_connections()

    async def close(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)  # in which the sockets are closed


@asynccontextmanager
async def proxied(port):
    """Yield a proxy of a port of this machine, and its own port."""
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    try:
        yield proxy, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await proxy.close()
