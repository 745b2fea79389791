"""A proxy that can fall silent: connections stay open, and nothing gets through any more, as after a cable is cut."""

import asyncio
from contextlib import asynccontextmanager, suppress


class Proxy:
    """Connects its clients to `port`, which may change."""

    def __init__(self, port):
        self.port = port
        self._through = asyncio.Event()
        self._through.set()
        self._tasks = set()
        self._writers = []

    def cut(self):
        """Let nothing more through."""
        self._through.clear()

    async def serve(self, reader, writer):
        """Connect a client with the server."""
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writers += [writer, other_writer]
        for source, target in ((reader, other_writer), (other_reader, writer)):
            self._tasks.add(asyncio.create_task(self._pump(source, target)))

    async def _pump(self, source, target):
        with suppress(ConnectionError):
            while data := await source.read(65536):
                await self._through.wait()
                target.write(data)
                await target.drain()

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
