"""The web page in a real browser, where the recognizer is full: it waits as it is told, says so, and can be stopped."""

import asyncio

import pytest
from rigs.babble import RATE_HZ
from rigs.black_hole import proxied
from rigs.chromium import browser
from rigs.encoded import encoded
from rigs.http_recognizer import http_recognizer
from rigs.recognizer import SPEECH
from rigs.web_page import ERROR, FINALS, INTERIM, START, STATUS, done, finals, opened, whole_audio

from sonorant.serving import admission

TOLD_S = 45.0  # beyond what the page tries again for without being told
FULL = f"{STATUS}.startsWith('The recognizer is full: 1 streams, no more than 1 at once; try again in {TOLD_S:.1f} s')"
FASTER = """
window.asked = [];
const slow = window.setTimeout;
window.setTimeout = (call, ms) => (window.asked.push(ms), slow(call, ms / 30));
"""


@pytest.fixture(autouse=True)
def _told(monkeypatch):
    monkeypatch.setattr(admission, "_RETRY_S", (TOLD_S, TOLD_S))


async def waited(page):
    """Wait until the page waits, as it is told."""
    await page.until(FULL)
    assert await page.run(f"{STATUS}.endsWith('Waiting; Stop gives up')")
    assert await page.run(f"window.asked.includes({1000 * TOLD_S})")
    assert await page.run(ERROR) == ""


async def check(page, recognizer):
    """Stop the page; its words are those of its audio in one stream."""
    assert await page.run(STATUS) == "Listening"
    await page.run(START)
    shown = await done(page)
    rate_hz = await page.run("new AudioContext().sampleRate")
    expected = await finals(recognizer, f"sample_rate={rate_hz}", [whole_audio(page, rate_hz)])
    assert " ".join(shown).split() == " ".join(expected).split()
    assert shown


def test_the_microphone_waits_and_what_was_said_meanwhile_is_recognized(tones, listener):
    async def run():
        async with opened(listener, tones, limits={"max_streams": 1}) as (page, engine, recognizer):
            await page.run(FASTER)
            with engine.admission.slot():
                await page.run(START)
                await waited(page)
            await page.until(f"{FINALS}.length > 1")
            await check(page, recognizer)

    asyncio.run(run())


def test_a_stream_that_goes_on_waits_too(tones, listener):
    async def run():
        async with (
            http_recognizer(tones) as (draining, first),
            http_recognizer(tones, max_streams=1) as (full, second),
            proxied(int(first.rpartition(":")[2])) as (proxy, port),
            browser(listener) as chrome,
            chrome.page(f"http://127.0.0.1:{port}/") as page,
        ):
            await page.until(f"{STATUS} === 'Ready'")
            await page.run(FASTER)
            await page.run(START)
            await page.until(f"{INTERIM}?.includes(' ')")
            proxy.port = int(second.rpartition(":")[2])
            with full.admission.slot():
                draining.end_streams()
                await waited(page)
            shown = len(await page.run(FINALS))
            await page.until(f"{FINALS}.length > {shown}")
            await check(page, second)

    asyncio.run(run())


@pytest.mark.parametrize("source", ["microphone", "file"])
def test_whoever_waits_can_stop_and_is_told_why_there_is_nothing(tones, listener, tmp_path, source):
    file = tmp_path / "talk.wav"
    file.write_bytes(encoded("WAV", SPEECH, RATE_HZ))

    async def run():
        async with opened(listener, tones, limits={"max_streams": 1}) as (page, engine, _):
            await page.run(FASTER.replace("30", "1"))
            with engine.admission.slot():
                await (page.run(START) if source == "microphone" else page.choose(file))
                await waited(page)
                await page.run(START)
                await page.until(f"{STATUS} === 'Ended by an error'")
                return await page.run(ERROR)

    error = asyncio.run(run())
    assert error.startswith("The recognizer is full")
    assert error.endswith("(RESOURCE_EXHAUSTED)")


def test_a_file_is_sent_when_the_recognizer_has_room(tones, listener, tmp_path):
    file = tmp_path / "talk.wav"
    file.write_bytes(encoded("WAV", SPEECH, RATE_HZ))

    async def run():
        async with opened(listener, tones, limits={"max_streams": 1}) as (page, engine, recognizer):
            await page.run(FASTER)
            with engine.admission.slot():
                await page.choose(file)
                await waited(page)
            shown = await done(page)
            return shown, await finals(recognizer, "encoding=AUTO", [file.read_bytes()])

    shown, expected = asyncio.run(run())
    assert shown == expected
