"""The web page in a real browser, where the recognizer ends a stream: the next one goes on."""

import asyncio

import numpy as np
import pytest
from rigs.babble import RATE_HZ
from rigs.black_hole import proxied
from rigs.chromium import browser
from rigs.encoded import encoded
from rigs.http_recognizer import http_recognizer
from rigs.tones import spoken
from rigs.web_page import (
    ERROR,
    FINALS,
    START,
    STATUS,
    TIMES,
    done,
    finals,
    opened,
    streams_of,
    whole_audio,
)

SPEECH, _ = spoken(12, seed=5)
LONG = np.concatenate([spoken(6, seed)[0] for seed in (7, 8, 9)])


async def check(page, recognizer):
    """Stop the page; its words are those of its audio in one stream, of which the streams had parts."""
    await page.run(START)
    shown = await done(page)
    rate_hz = await page.run("new AudioContext().sampleRate")
    found, audio = streams_of(page, rate_hz), whole_audio(page, rate_hz)
    assert len(found) > 1
    expected = await finals(recognizer, f"sample_rate={rate_hz}", [audio])
    assert " ".join(shown).split() == " ".join(expected).split()
    assert len(" ".join(shown).split()) > 3
    assert await page.run(STATUS) == f"Done: {len(audio) / 2 / rate_hz:.1f} s of audio"
    return found


def test_no_word_is_lost_or_doubled_where_a_limit_ends_streams(tones, listener):
    async def run():
        async with (
            http_recognizer(tones) as (_, unlimited),
            opened(listener, tones, limits={"max_stream_seconds": 1.5}) as (page, _, _),
        ):
            await page.run(START)
            await page.until(f"{FINALS}.length > 3")
            return await check(page, unlimited), await page.run(TIMES)

    found, times = asyncio.run(run())
    assert len(found) > 3
    assert times == sorted(times)
    assert times[-1] > "0:02"


def test_a_drain_ends_the_stream_which_another_replica_takes_when_it_can(tones, listener):
    async def run():
        async with (
            http_recognizer(tones) as (draining, first),
            http_recognizer(tones) as (_, second),
            proxied(int(first.rpartition(":")[2])) as (proxy, port),
            browser(listener) as chrome,
            chrome.page(f"http://127.0.0.1:{port}/") as page,
        ):
            await page.until(f"{STATUS} === 'Ready'")
            await page.run(START)
            await page.until("document.querySelector('#interim:not([hidden]) .text')?.textContent.includes(' ')")
            draining.end_streams()
            while len(page.urls) < 2:  # the next stream is refused
                await asyncio.sleep(0.01)
            shown = len(await page.run(FINALS))
            proxy.port = int(second.rpartition(":")[2])
            await page.until(f"{FINALS}.length > {shown}")
            await check(page, second)

    asyncio.run(run())


@pytest.mark.parametrize(("encoding", "most_s"), [("MP3", 4.0), ("WEBM_OPUS", 3.0)])
def test_a_file_beyond_the_limit_of_a_stream_is_recognized_to_its_end(tones, listener, tmp_path, encoding, most_s):
    file = tmp_path / "talk"
    file.write_bytes(encoded(encoding, LONG, RATE_HZ))

    async def run():
        async with (
            http_recognizer(tones) as (_, unlimited),
            opened(listener, tones, limits={"max_stream_seconds": most_s}) as (page, _, _),
        ):
            await page.choose(file)
            shown, times = await done(page), await page.run(TIMES)
            expected = await finals(unlimited, "encoding=AUTO", [file.read_bytes()])
            return shown, expected, times, await page.run(STATUS), streams_of(page, 16000)

    shown, expected, times, status, streams = asyncio.run(run())
    assert " ".join(shown).split() == " ".join(expected).split()
    assert len(" ".join(shown).split()) > 15
    assert len(streams) > 3
    assert times == sorted(times)
    assert times[-1] > "0:07"
    told_s = float(status.removeprefix("Done: ").partition(" ")[0])
    assert abs(told_s - len(LONG) / RATE_HZ) < 0.2


def test_a_file_beyond_the_limit_that_the_browser_cannot_decode_is_told(tones, listener, tmp_path):
    file = tmp_path / "talk.wav"
    file.write_bytes(encoded("WAV", LONG, RATE_HZ))

    async def run():
        async with opened(listener, tones, limits={"max_stream_seconds": 3.0}) as (page, _, _):
            await page.run("OfflineAudioContext.prototype.decodeAudioData = () => Promise.reject(new Error())")
            await page.choose(file)
            await page.until(f"{STATUS} === 'Ended by an error'")
            return await page.run(ERROR), await page.run(FINALS)

    error, shown = asyncio.run(run())
    assert error.startswith("The browser cannot decode this file")
    assert shown
