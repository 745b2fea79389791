"""The recognizer's web page in a browser, what it shows, and what another client gets for the same audio."""

import json
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import parse_qs, urlsplit

import soundfile
from rigs.babble import RATE_HZ
from rigs.chromium import browser, chromium
from rigs.http_recognizer import http_recognizer
from websockets.asyncio.client import connect

from sonorant.serving.resume_token import parse_token

STATUS = "document.querySelector('#status').textContent"
ERROR = "document.querySelector('#error').textContent"
FINALS = "[...document.querySelectorAll('#finals .text')].map((element) => element.textContent)"
INTERIM = "document.querySelector('#interim:not([hidden]) .text')?.textContent"
TIMES = "[...document.querySelectorAll('#finals .time')].map((element) => element.textContent)"
START = "document.querySelector('#start').click()"


@contextmanager
def chromium_that_hears(samples, folder):
    """Yield the address of Chromium, whose microphone hears Float32[samples], over and over."""
    soundfile.write(folder / "microphone.wav", samples, RATE_HZ, subtype="PCM_16")
    with chromium(folder / "microphone.wav") as address:
        yield address


@asynccontextmanager
async def opened(address, store, width=1000, limits=None):
    """Yield the page, ready; and its recognizer's engine and address."""
    async with (
        http_recognizer(store, **(limits or {})) as (engine, recognizer),
        browser(address) as chrome,
        chrome.page(f"http://{recognizer}/", width) as page,
    ):
        await page.until(f"{STATUS} === 'Ready'")
        yield page, engine, recognizer


async def finals(recognizer, query, chunks):
    """Texts of the final results that a client gets for `chunks`."""
    found = []
    async with connect(f"ws://{recognizer}/v1/stream?{query}") as call:
        for chunk in [*chunks, json.dumps({"type": "CloseStream"})]:
            await call.send(chunk)
        while (told := json.loads(await call.recv()))["type"] != "Closed":
            if told["type"] == "Results" and told["alternatives"][0]["transcript"]:
                found.append(told["alternatives"][0]["transcript"])
    return found


async def done(page):
    await page.until(f"{STATUS}.startsWith('Done')")
    return await page.run(FINALS)


def streams_of(page, rate_hz):
    """Audio by the sample at which it begins, of the last stream at each place: others were refused."""
    found = {}
    for url, chunks in zip(page.urls, page.audio, strict=True):
        token = parse_token(parse_qs(urlsplit(url).query).get("resume_token", [""])[0])
        found[0 if token is None else round(token.begin_s * rate_hz)] = b"".join(chunks)
    return found


def whole_audio(page, rate_hz):
    """The audio of all streams in one piece; fails if it was not sent again from where a stream had to go on."""
    audio = b""
    for begin, part in sorted(streams_of(page, rate_hz).items()):
        shared = audio[2 * begin :]
        assert begin <= len(audio) // 2
        assert part[: len(shared)] == shared
        audio = audio[: 2 * begin] + part
    return audio
