"""The web page in a real browser: what a user sees, hears of, and does."""

import asyncio
from contextlib import AsyncExitStack

import numpy as np
import pytest
import soxr
from rigs.babble import RATE_HZ
from rigs.chromium import browser
from rigs.encoded import encoded, written
from rigs.http_recognizer import http_recognizer
from rigs.keyed import api_keys, keyed
from rigs.recognizer import SPEECH
from rigs.web_page import ERROR, FINALS, INTERIM, START, STATUS, chromium_that_hears, done, finals, opened
from scipy.signal import fftconvolve

SILENCE = np.zeros(RATE_HZ, np.float32)
HEARD = np.concatenate([SPEECH, SILENCE, SILENCE])  # over and over: a busy machine loses some of it
TWICE = np.concatenate([SPEECH, SILENCE, SPEECH])
FOCUS = "document.activeElement.id"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with chromium_that_hears(HEARD, tmp_path_factory.mktemp("microphone")) as address:
        yield address


def likeness(pcm, rate_hz):
    """Largest correlation of the loudest 0.25 s of 16-bit samples with any part of SPEECH, at that rate."""
    samples = np.frombuffer(pcm, np.int16) / 32768
    length = rate_hz // 4
    part = max((samples[at : at + length] for at in range(0, len(samples) - length, length // 2)), key=np.linalg.norm)
    speech = soxr.resample(SPEECH, RATE_HZ, rate_hz)
    energies = fftconvolve(speech**2, np.ones(length), "valid")
    return (fftconvolve(speech, part[::-1], "valid") / np.linalg.norm(part) / np.sqrt(energies + 1e-9)).max()


def test_captions_of_the_microphone_are_what_the_recognizer_says_to_its_audio(store, address):
    async def run():
        async with opened(address, store) as (page, _, recognizer):
            await page.run(START)
            await page.until(INTERIM)
            shade = "getComputedStyle(document.querySelector('#interim')).getPropertyValue('--stability')"
            stability = float(await page.run(shade))
            await page.until(f"{FINALS}.length > 0")  # by the pause behind it
            latency = await page.run("document.querySelector('#latency').textContent")
            await page.run("document.querySelector('#finalize').click()")
            await page.run(START)
            shown = await done(page)
            rate_hz = await page.run("new AudioContext().sampleRate")
            (chunks,) = page.audio
            expected = await finals(recognizer, f"sample_rate={rate_hz}", chunks)
            return shown, expected, stability, latency, rate_hz, chunks, page.commands

    shown, expected, stability, latency, rate_hz, chunks, commands = asyncio.run(run())
    assert shown == expected
    assert shown[0]
    assert 0 < stability <= 1
    assert int(latency.split()[0]) >= 0
    assert {len(chunk) for chunk in chunks[:-1]} == {2 * rate_hz // 10}
    assert likeness(b"".join(chunks), rate_hz) > 0.95
    assert commands == ["Finalize", "CloseStream"]


def test_a_file_is_sent_as_it_is_and_each_utterance_has_its_line(store, address, tmp_path):
    file = tmp_path / "talk.flac"
    file.write_bytes(encoded("FLAC", TWICE, RATE_HZ))

    async def run():
        async with opened(address, store) as (page, _, recognizer):
            await page.choose(file)
            shown = await done(page)
            times = await page.run("[...document.querySelectorAll('#finals .time')].map((e) => e.textContent)")
            expected = await finals(recognizer, "encoding=AUTO", [file.read_bytes()])
            return shown, expected, times, await page.run(STATUS), page.audio

    shown, expected, times, status, audio = asyncio.run(run())
    assert shown == expected
    assert len(shown) == 2
    assert times == ["0:00", "0:02"]
    assert status.startswith("Done: 5.0 s of audio in ")
    assert b"".join(audio[0]) == file.read_bytes()


def test_a_file_that_only_the_browser_knows_is_decoded_there(store, address, tmp_path):
    file = tmp_path / "talk.ogg"
    file.write_bytes(written(SPEECH, RATE_HZ, "OGG", "VORBIS"))

    async def run():
        async with opened(address, store) as (page, _, _):
            await page.choose(file)
            await done(page)
            return await page.run(STATUS), page.audio

    status, (refused, decoded) = asyncio.run(run())
    assert status.startswith("Done: 2.0 s of audio")
    assert b"".join(refused) == file.read_bytes()
    assert likeness(b"".join(decoded), 16000) > 0.9


def test_an_error_is_told_with_what_to_do_and_the_next_run_clears_it(store, address, tmp_path):
    file, other = tmp_path / "talk.wav", tmp_path / "notes.txt"
    file.write_bytes(encoded("WAV", SPEECH, RATE_HZ))
    other.write_text("no audio at all")

    async def run():
        async with opened(address, store) as (page, _, _):

            async def told(path):
                await page.choose(path)
                await page.until(f"{STATUS} === 'Ended by an error'")
                return await page.run(ERROR)

            unreadable = await told(other)
            await page.run("document.querySelector('#model').add(new Option('bubble', 'bubble', true, true))")
            unknown = await told(file)
            await page.run("document.querySelector('#model').value = 'babble'")
            await page.choose(file)
            await done(page)
            return unreadable, unknown, await page.run(ERROR)

    unreadable, unknown, cleared = asyncio.run(run())
    assert unreadable.startswith("The recognizer cannot read this audio")
    assert unknown.startswith("The model is not served")
    assert "served are: babble" in unknown
    assert cleared == ""


def test_an_api_key_is_asked_for_where_the_recognizer_wants_one(store, address, tmp_path):
    file, secrets = api_keys(tmp_path, listener=None)

    async def run():
        async with (
            keyed(store, file) as server,
            browser(address) as chrome,
            chrome.page(f"http://127.0.0.1:{server.http_port}/") as page,
        ):
            asked = await page.until(ERROR)
            for key in ("wrong", secrets["listener"]):
                await page.run("document.querySelector('#key').focus(); document.querySelector('#key').value = ''")
                await page.call("Input.insertText", text=key)
                await page.press("Enter")
                await page.until("!/below/.test(document.querySelector('#error').textContent)")
                await page.until(f"{STATUS} === '{'Not ready' if key == 'wrong' else 'Ready'}'")
            hidden = await page.run("document.querySelector('#keyed').hidden")
            await page.run(START)
            await page.until(f"{FINALS}.length > 0")
            await page.run(START)
            await done(page)
            page.faults.clear()  # the refusals
            return asked, hidden, page.protocols

    asked, hidden, protocols = asyncio.run(run())
    assert asked.startswith("The recognizer asks for an API key")
    assert hidden
    assert protocols == [f"token, {secrets['listener']}"]


def test_the_keyboard_alone_is_enough(store, address, tmp_path):
    file = tmp_path / "talk.flac"
    file.write_bytes(encoded("FLAC", SPEECH, RATE_HZ))

    async def run():
        async with opened(address, store) as (page, _, _):
            visited = []
            for _ in range(5):
                await page.press("Tab")
                visited.append(await page.run(FOCUS))
                assert await page.run("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
            roles = await page.roles()
            while await page.run(FOCUS) != "start":
                await page.press("Tab")
            await page.press("Enter")
            await page.until(INTERIM)
            await page.press(" ")
            spoken = await done(page)
            while await page.run(FOCUS) != "file":
                await page.press("Tab")
            await page.choose_by_key("Enter", file)
            await page.until(f"{STATUS}.includes(' in ')")
            both = await page.run(FINALS)
            while await page.run(FOCUS) != "clear":
                await page.press("Tab")
            await page.press("Enter")
            return visited, roles, spoken, both, await page.run(FINALS)

    visited, roles, spoken, both, cleared = asyncio.run(run())
    assert cleared == []
    assert visited == ["model", "file", "start", "clear", "scroll"]
    assert len(both) > len(spoken)
    assert {
        ("combobox", "Model"),
        ("button", "Start microphone"),
        ("meter", "Level"),
        ("log", "Final text"),
        ("region", "Captions"),
    } <= roles


def test_a_phone_needs_no_horizontal_scrolling_and_no_small_fingers(store, address, tmp_path):
    file, other = tmp_path / "talk.wav", tmp_path / ("a_long_name_without_an_end" * 5 + ".txt")
    file.write_bytes(encoded("WAV", TWICE, RATE_HZ))
    other.write_text("no audio at all")

    async def run():
        async with opened(address, store, width=320) as (page, _, _):
            await page.choose(file)
            await done(page)
            await page.choose(other)
            await page.until(ERROR)
            heights = (
                "[...document.querySelectorAll('.controls :is(select, input, button)')].map((e) => e.offsetHeight)"
            )
            return await page.run("[document.documentElement.scrollWidth, innerWidth]"), await page.run(heights)

    (scrolled, visible), heights = asyncio.run(run())
    assert scrolled <= visible == 320
    assert min(heights) >= 44


CONTRASTS = """
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const linear = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const back = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" ? back(element.parentElement) : colour;
  };
  const interim = document.querySelector("#interim");
  interim.hidden = false;
  interim.style.setProperty("--stability", 0);
  interim.querySelector(".text").textContent = "may change";
  const isText = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const texts = [...document.querySelectorAll("body *")]
    .filter((element) => element.offsetHeight && [...element.childNodes].some(isText));
  return texts.map((element) => {
    const pair = [light(getComputedStyle(element).color), light(back(element))].sort((one, other) => other - one);
    return [element.className || element.id || element.tagName, (pair[0] + 0.05) / (pair[1] + 0.05)];
  });
})()
"""


def test_all_text_has_the_contrast_of_wcag_aa_in_both_schemes_however_unstable(store, address, tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("no audio at all")

    async def run():
        async with opened(address, store) as (page, _, _):
            await page.choose(other)
            await page.until(ERROR)
            found = {}
            for scheme in ("light", "dark"):
                await page.prefer(scheme)
                back = await page.run("getComputedStyle(document.body).backgroundColor")
                found[back] = await page.run(CONTRASTS)
            return found

    found = asyncio.run(run())
    assert list(found) == ["rgb(246, 247, 249)", "rgb(16, 19, 24)"]
    for contrasts in found.values():
        assert {"text", "time", "status", "STRONG"} <= {name for name, _ in contrasts}
        assert [(name, ratio) for name, ratio in contrasts if ratio < 4.5] == []


def test_a_recognizer_that_is_gone_is_told(store, address):
    async def run():
        async with AsyncExitStack() as server, browser(address) as chrome:
            _, recognizer = await server.enter_async_context(http_recognizer(store))
            async with chrome.page(f"http://{recognizer}/") as page:
                await page.until(f"{STATUS} === 'Ready'")
                await page.run(START)
                await page.until(INTERIM)
                await server.aclose()
                await page.until(ERROR)
                page.faults.clear()  # such as the socket that it could not open
                return await page.run(ERROR)

    assert asyncio.run(run()).startswith("The connection to the recognizer is lost")
