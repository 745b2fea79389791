"""The web page in a real browser, where the connection breaks: it connects again, and no word is lost or doubled."""

import asyncio
import json
from contextlib import asynccontextmanager

import numpy as np
import pytest
from rigs.babble import RATE_HZ
from rigs.black_hole import proxied
from rigs.chromium import browser
from rigs.encoded import encoded
from rigs.http_recognizer import http_recognizer
from rigs.tones import spoken
from rigs.web_page import ERROR, FINALS, INTERIM, START, STATUS, TIMES, done
from websockets.asyncio.client import connect

TALK = np.concatenate([spoken(5, seed)[0] for seed in range(1, 9)])  # a file of some utterances
# What the page shows, at each change.
WATCH = f"""
window.statuses = [];
window.shown = [];
new MutationObserver(() => {{
  const status = {STATUS};
  if (window.statuses.at(-1) !== status) window.statuses.push(status);
  window.shown.push([...{FINALS}, {INTERIM} ?? ""].join(" ").split(" ").filter(Boolean).length);
}}).observe(document.body, {{ subtree: true, childList: true, characterData: true, attributes: true }});
"""
LOST = "The connection to the recognizer is lost. Trying again in "


@asynccontextmanager
async def watched(listener, tones):
    """Yield the page, ready; the proxy that it reaches the recognizer by; and the recognizer's own address."""
    async with (
        http_recognizer(tones) as (_, recognizer),
        proxied(int(recognizer.rpartition(":")[2])) as (proxy, port),
        browser(listener) as chrome,
        chrome.page(f"http://127.0.0.1:{port}/") as page,
    ):
        await page.until(f"{STATUS} === 'Ready'")
        await page.run(WATCH)
        yield page, proxy, recognizer
        assert all("WebSocket" in fault["text"] for fault in page.faults)
        page.faults.clear()  # the browser's own log of what is broken


async def unbroken(recognizer, query, audio):
    """Utterances that a client gets for the audio in one stream: texts, and where they start in seconds."""
    async with connect(f"ws://{recognizer}/v1/stream?{query}") as call:
        for message in (audio, json.dumps({"type": "CloseStream"})):
            await call.send(message)
        told = [json.loads(text) async for text in call]
    results = [one for one in told if one["type"] == "Results" and one["alternatives"][0]["transcript"]]
    return [one["alternatives"][0]["transcript"] for one in results], [one["start_s"] for one in results]


def joined(streams):
    """The audio of streams in one piece; fails if one does not begin in that of those before, or right behind it."""
    audio = b""
    for part in streams:
        begin = audio.find(part[:2000]) if audio else 0
        begin = len(audio) if begin < 0 else begin
        shared = audio[begin:]
        assert part[: len(shared)] == shared
        audio = audio[:begin] + part
    return audio


async def check_shown(page, expected):
    """What was shown is that of one stream, and nothing of it went away meanwhile."""
    texts, starts_s = expected
    assert await page.run(FINALS) == texts
    for time, start_s in zip(await page.run(TIMES), starts_s, strict=True):
        minutes, seconds = map(int, time.split(":"))
        assert abs(60 * minutes + seconds + 0.5 - start_s) < 1
    shown = await page.run("window.shown")
    assert shown == sorted(shown)
    assert await page.run(ERROR) == ""


@pytest.mark.parametrize("utterances", [0, 1])
def test_the_microphone_goes_on_after_a_break_with_what_was_said_meanwhile(tones, listener, utterances):
    async def run():
        async with watched(listener, tones) as (page, proxy, recognizer):
            await page.run(START)
            await page.until(f"{FINALS}.length === {utterances} && {INTERIM}?.includes(' ')")
            proxy.out_of_reach = True
            proxy.break_connections()
            while len(page.urls) < 3:  # one try in vain
                await asyncio.sleep(0.01)
            assert " " in await page.run(INTERIM)
            proxy.out_of_reach = False
            await page.until(f"{FINALS}.length > {utterances + 1}")
            await page.run(START)
            await done(page)
            rate_hz = await page.run("new AudioContext().sampleRate")
            audio = joined([b"".join(chunks) for chunks in page.audio if chunks])
            await check_shown(page, await unbroken(recognizer, f"sample_rate={rate_hz}", audio))
            assert await page.run(STATUS) == f"Done: {len(audio) / 2 / rate_hz:.1f} s of audio"
            return await page.run("window.statuses")

    statuses = asyncio.run(run())
    first = statuses.index(f"{LOST}0.5 s")
    assert statuses[first - 1 : first + 2] == ["Listening", f"{LOST}0.5 s", f"{LOST}1 s"]
    assert statuses[-3:] == ["Listening", "Finishing", statuses[-1]]


@pytest.mark.parametrize("answered", [20, 600, 6000])  # bytes: of no message, of interim results, of final ones
def test_a_file_goes_on_after_a_break_from_its_last_final_result(tones, listener, tmp_path, answered):
    file = tmp_path / "talk.flac"
    file.write_bytes(encoded("FLAC", TALK, RATE_HZ))

    async def run():
        async with watched(listener, tones) as (page, proxy, recognizer):
            proxy.break_after(answered)
            await page.choose(file)
            await done(page)
            first, second = (b"".join(chunks) for chunks in page.audio)
            await check_shown(page, await unbroken(recognizer, "encoding=AUTO", file.read_bytes()))
            assert (await page.run(STATUS)).startswith(f"Done: {len(TALK) / RATE_HZ:.1f} s of audio in ")
            assert f"{LOST}0.5 s" in await page.run("window.statuses")
            return first, second

    first, second = asyncio.run(run())
    assert (second == file.read_bytes()) == (answered < 6000)  # of which nothing was final
    assert file.read_bytes().startswith(first)
    assert answered < 6000 or 0 < len(second) < 4 * (len(TALK) - RATE_HZ)  # of 16 kHz


def test_when_all_tries_were_in_vain_it_is_told_and_what_was_shown_stays(tones, listener):
    async def run():
        async with watched(listener, tones) as (page, proxy, _):
            await page.run("const slow = window.setTimeout; window.setTimeout = (call, ms) => slow(call, ms / 30)")
            await page.run(START)
            await page.until(f"{INTERIM}?.includes(' ')")
            proxy.out_of_reach = True
            proxy.break_connections()
            await page.until(f"{STATUS} === 'Ended by an error'")
            assert " " in (await page.run(FINALS))[-1]
            assert await page.run(f"{INTERIM} === undefined")
            shown = await page.run("window.shown")
            assert shown == sorted(shown)
            return await page.run(ERROR), await page.run("window.statuses")

    error, statuses = asyncio.run(run())
    assert error.startswith("The connection to the recognizer is lost")
    assert [one for one in statuses if one.startswith(LOST)] == [f"{LOST}{s} s" for s in ("0.5", 1, 2, 4, 8, 15)]


@pytest.mark.parametrize("source", ["microphone", "file"])
def test_whoever_stops_in_a_break_does_not_wait(tones, listener, tmp_path, source):
    file = tmp_path / "talk.wav"
    file.write_bytes(encoded("WAV", TALK, RATE_HZ))

    async def run():
        async with watched(listener, tones) as (page, proxy, _):
            await page.run("const slow = window.setTimeout; window.setTimeout = (call, ms) => slow(call, 30 * ms)")
            if source == "file":
                proxy.break_after(6000)
                await page.choose(file)
            else:
                await page.run(START)
                await page.until(f"{INTERIM}?.includes(' ')")
                proxy.break_connections()
            await page.until(f"{STATUS} === '{LOST}0.5 s'")
            await page.run(START)
            await page.until(f"/^(Done|Ended)/.test({STATUS})")
            return await page.run(STATUS), await page.run(ERROR), await page.run(FINALS)

    status, error, shown = asyncio.run(run())
    assert shown
    if source == "file":
        assert status == "Ended by an error"
        assert error.startswith("The connection to the recognizer is lost")
    else:
        assert status.startswith("Done: ")
        assert error == ""
