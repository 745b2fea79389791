"""A recording that goes on over several recognizers, each stream ended within a word, has each word once."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from rigs.babble import RATE_HZ
from rigs.recognizer import recognizer
from rigs.tones import spoken, tone_store

from services.recognizer.server import RecognizerServer
from services.recognizer_client.client import connect, open_recognizer, pcm16, stream_audio, stream_recording
from services.recognizer_client.transcript import read_event
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.session import Session

SPEECH, WORDS = spoken(12, seed=1)
AUDIO = pcm16(SPEECH)
CHUNK = RATE_HZ // 10 * 2  # bytes of 100 ms


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tone_store(tmp_path_factory.mktemp("exports"), 1)


def check(words):
    """The words are those that were spoken, at their times from the beginning of the recording."""
    assert [word.word for word in words] == [word for word, _, _ in WORDS]
    assert [word.start_s for word in words] == pytest.approx([begin_s for _, begin_s, _ in WORDS], abs=0.1)


@pytest.mark.parametrize("limit_s", [1.1, 1.3, 1.7, 2.9])
def test_each_word_is_heard_once_over_streams_that_end_at_the_length_limit(store, limit_s):
    async def run():
        async with recognizer(store, max_stream_seconds=limit_s) as (_, channel):
            return await stream_recording(connect(channel), SPEECH, RATE_HZ)

    found = asyncio.run(run())
    check(found.words)
    assert found.text == " ".join(word for word, _, _ in WORDS)


class OneAfterAnother:
    """A client's methods, each stream to another recognizer."""

    def __init__(self, stubs):
        self._stubs = iter(stubs)

    def StreamingRecognize(self, requests):
        return next(self._stubs).StreamingRecognize(requests)


def moments(at):
    """A moment within each word."""
    return [begin_s + at * (end_s - begin_s) for _, begin_s, end_s in WORDS]


@pytest.mark.parametrize("at", [0.25, 0.5, 0.75])
def test_each_word_is_heard_once_over_recognizers_that_shut_down_within_each_word(store, monkeypatch, at):
    heard, push_steps = asyncio.Queue(), Session.push_steps

    def watched(self, samples):
        found = yield from push_steps(self, samples)
        loop.call_soon_threadsafe(heard.put_nowait, self.heard_s)
        return found

    monkeypatch.setattr(Session, "push_steps", watched)

    async def chunks(servers):
        sent = 0
        for moment_s, server in zip(moments(at), servers, strict=False):
            until = 2 * round(moment_s * RATE_HZ)
            while sent < until:
                yield AUDIO[sent : (sent := min(sent + CHUNK, until))]
            while await heard.get() < moment_s - 1e-3:
                pass
            server.engine.end_streams()
        yield AUDIO[sent:]

    async def run():
        nonlocal loop
        loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(recognizer(store)) for _ in range(len(WORDS) + 1)]
            stub = OneAfterAnother([connect(channel) for _, channel in opened])
            audio = chunks([server for server, _ in opened[:-1]])
            responses = [response async for response in stream_audio(stub, audio, RATE_HZ)]
        total_s = responses[-1].metadata.total_billed_duration.ToMilliseconds() / 1000
        assert total_s == pytest.approx(len(SPEECH) / RATE_HZ, abs=0.002)
        assert sum(bool(response.resume_token) for response in responses) == len(WORDS)
        return [
            word for response in responses if response.results[0].is_final for word in read_event(response, 0).words
        ]

    loop = None
    check(asyncio.run(run()))


def test_a_drain_in_the_middle_of_a_recording_loses_nothing(store):
    async def run():
        old, new = (RecognizerServer(store, ServingRecipe(port=0)) for _ in range(2))
        addresses = [f"127.0.0.1:{await server.start()}" for server in (old, new)]
        async with asyncio.timeout(60), open_recognizer(f"ipv4:{','.join(addresses)}") as channel:
            stream = asyncio.create_task(stream_recording(connect(channel), SPEECH[: 4 * RATE_HZ], RATE_HZ, paced=True))
            while not old.engine.admission.active + new.engine.admission.active:
                await asyncio.sleep(0.01)
            first = old if old.engine.admission.active else new
            await asyncio.sleep(0.5)
            going = asyncio.create_task(first.stop(2.0))
            found = await stream
            await going
        for server in (old, new):
            if server is not first:
                await server.stop(0)
        return found

    found = asyncio.run(run())
    assert sum(event.is_final for event in found.events) > 1
    assert [word.word for word in found.words] == [word for word, begin_s, _ in WORDS if begin_s < 3.7]
