import asyncio

import httpx2 as httpx
import pytest
from rigs.http_recognizer import http_recognizer
from rigs.openai_client import PLAIN, WAV
from rigs.slots import until_free

from services.recognizer.stream import MonoStream


@pytest.mark.parametrize("streamed", ["true", "false"])
def test_what_a_client_waited_for_is_cancelled_when_it_leaves(store, monkeypatch, streamed):
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def endless(self, audio):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        yield

    async def run():
        async with http_recognizer(store) as (engine, address), httpx.AsyncClient(verify=PLAIN) as client:
            data = {"model": "babble", "stream": streamed}
            asking = asyncio.ensure_future(
                client.post(f"http://{address}/v1/audio/transcriptions", files={"file": ("a.wav", WAV)}, data=data)
            )
            await begun.wait()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await until_free(engine)

    monkeypatch.setattr(MonoStream, "results", endless)
    asyncio.run(run())
    assert cancelled.is_set()
