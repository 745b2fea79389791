"""The recognizer's tests have the event loop of the served program."""

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
