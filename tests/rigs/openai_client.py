"""OpenAI's own client of a recognizer's HTTP on a real socket."""

import asyncio
import ssl

import httpx2 as httpx
import openai
from rigs.babble import RATE_HZ
from rigs.encoded import encoded
from rigs.http_recognizer import http_recognizer
from rigs.recognizer import SPEECH
from rigs.slots import until_free

WAV = encoded("WAV", SPEECH, RATE_HZ)
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without the system's certificates, which take long to load


def asked(store, ask, **limits):
    """What `ask` returns of the client."""

    async def run():
        async with (
            http_recognizer(store, **limits) as (engine, address),
            httpx.AsyncClient(verify=PLAIN) as http,
            openai.AsyncOpenAI(
                base_url=f"http://{address}/v1", api_key="any", max_retries=0, http_client=http
            ) as client,
        ):
            found = await ask(client)
            await until_free(engine)
            return found

    return asyncio.run(run())


def transcribed(store, file=("speech.wav", WAV), **options):
    """The client's answer for a recording."""
    return asked(store, lambda client: client.audio.transcriptions.create(file=file, model="babble", **options))
