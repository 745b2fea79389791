import asyncio
import json
from contextlib import suppress

import openai
import pytest
from rigs.babble import babble_model, babble_recipe
from rigs.http_recognizer import http_recognizer
from rigs.openai_client import WAV, asked, transcribed
from rigs.recognizer import AUDIO
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from sonorant.export.loading import load_exported
from sonorant.export.saved_model import export_model
from sonorant.serving.model_store import ModelStore
from sonorant.serving.session import Session, SessionOptions
from sonorant.text.formatting import formatter
from sonorant.text.units import Units


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    """A store of one model, which says numbers and what they count."""
    exports = tmp_path_factory.mktemp("counting")
    recipe, units = babble_recipe(), Units("words", ("hundred", "dollars", "twenty", "miles"))
    export_model(babble_model(recipe), recipe, units, exports)
    store = ModelStore(exports, load_exported)
    store.refresh()
    return store


@pytest.fixture(scope="module")
def texts(counting):
    """What is said, and its written form."""
    session = Session(counting.get(), SessionOptions())
    session.push(AUDIO)
    said = session.finish()[-1].alternatives[0].text
    assert formatter("en").text(said) != said
    return said, formatter("en").text(said)


def streamed(store, query="", configure=None):
    """The messages that a WebSocket's client reads."""

    async def run():
        async with http_recognizer(store) as (_, address), connect(f"ws://{address}/v1/stream{query}") as call:
            read = []
            with suppress(ConnectionClosed):
                if configure is not None:
                    await call.send(json.dumps({"type": "Configure", **configure}))
                await call.send(AUDIO)
                await call.send(json.dumps({"type": "CloseStream"}))
            with suppress(ConnectionClosed):
                while True:
                    read.append(json.loads(await call.recv()))
            return read

    return asyncio.run(run())


@pytest.mark.parametrize(("query", "configure"), [("?written=en", None), ("", {"written": "en"})])
def test_a_websocket_has_the_written_form_that_it_asks_for(counting, texts, query, configure):
    said, written = texts
    (plain,) = [one for one in streamed(counting) if one.get("is_final")]
    (final,) = [one for one in streamed(counting, query, configure) if one.get("is_final")]
    assert plain["alternatives"][0]["transcript"] == said
    assert final["alternatives"][0]["transcript"] == written


def test_a_recording_has_the_written_form_in_all_that_is_answered(counting, texts):
    said, written = texts
    assert transcribed(counting).text == said
    wanted = {"extra_body": {"written": "en"}}
    assert transcribed(counting, **wanted).text == written
    verbose = transcribed(
        counting, response_format="verbose_json", timestamp_granularities=["word", "segment"], **wanted
    )
    assert verbose.text == verbose.segments[0].text == " ".join(word.word for word in verbose.words) == written

    async def ask(client):
        events = await client.audio.transcriptions.create(
            file=("speech.wav", WAV), model="babble", stream=True, **wanted
        )
        return [event async for event in events]

    *deltas, done = asked(counting, ask)
    assert done.text == "".join(event.delta for event in deltas) == written


def test_a_language_without_rules_is_refused(counting):
    error = streamed(counting, "?written=de")[0]
    assert error["code"] == "INVALID_ARGUMENT"
    assert "written='de': expected one of en, fr, ko" in error["message"]
    with pytest.raises(openai.BadRequestError, match="written='de': expected one of en, fr, ko"):
        transcribed(counting, extra_body={"written": "de"})
