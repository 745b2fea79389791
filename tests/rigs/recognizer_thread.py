"""A recognizer on a real socket, for clients that block."""

import asyncio
import contextlib
import threading

import uvloop

from services.recognizer.server import RecognizerServer
from sonorant.recipe.serving import ServingRecipe


@contextlib.contextmanager
def recognizer_on_a_thread(store, **limits):
    """A recognizer in an event loop of its own, and its address. Its SLO is met on any machine."""
    loop = uvloop.new_event_loop()  # that of the served program
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = RecognizerServer(store, ServingRecipe(slo_ms=60_000.0, **limits), 60.0)
    port = asyncio.run_coroutine_threadsafe(server.start(), loop).result(timeout=60)
    try:
        yield server, loop, f"127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(0.0), loop).result(timeout=60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
