"""The recognizer's tests have the event loop of the served program; what those of the web page share."""

import asyncio

import pytest
import uvloop

from services.recognizer.stream import MonoStream


@pytest.fixture(autouse=True)
def _event_loop_of_the_program():
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    yield
    asyncio.set_event_loop_policy(None)


@pytest.fixture
def words_of_recordings(monkeypatch):
    """The words that the recognizer computes of each recording, whatever it sends of them."""
    whole, words = MonoStream.whole, []

    async def watched(self, audio):
        results = await whole(self, audio)
        words.append([word for result in results for one in result.alternatives for word in one.words])
        return results

    monkeypatch.setattr(MonoStream, "whole", watched)
    return words


@pytest.fixture(scope="module")
def tones(tmp_path_factory):
    """What a recognizer serves: a model that knows the tones of `rigs.tones`; TensorFlow is loaded for it alone."""
    from rigs.tones import tone_store

    return tone_store(tmp_path_factory.mktemp("exports"), 1)


@pytest.fixture(scope="module")
def listener(tmp_path_factory):
    """The address of Chromium, whose microphone hears tones."""
    from rigs.tones import spoken
    from rigs.web_page import chromium_that_hears

    with chromium_that_hears(spoken(12, seed=5)[0], tmp_path_factory.mktemp("microphone")) as address:
        yield address
