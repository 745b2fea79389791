"""Phrases of a request, and whether its model's language model counts, over the recognizer's own protocols."""

import asyncio
import json
from contextlib import suppress

import pytest
from rigs.babble import UNITS, babble_model, babble_recipe, murmur
from rigs.http_recognizer import http_recognizer
from rigs.recognizer import recognizer
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from services.recognizer_client.client import connect as stub
from services.recognizer_client.client import pcm16
from sonorant.decoding.section import LanguageModelRecipe
from sonorant.export.loading import load_exported
from sonorant.export.saved_model import export_model
from sonorant.lm.training import train
from sonorant.serving.model_store import ModelStore
from sonorant.serving.phrases import scorer_with_phrases
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb

AUDIO = pcm16(murmur(2.0, seed=4))
CHOICES = [((), True), ((), False), ((("gamma", 12.0),), True), ((("beta", 9.0), ("gamma alpha", 0.0)), False)]


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fused")
    (folder / "text.txt").write_text("\n".join(["delta delta"] * 50 + ["alpha beta gamma"]))
    train([folder / "text.txt"], folder / "small.arpa", order=2)
    recipe = babble_recipe()
    lm = LanguageModelRecipe(path=str(folder / "small.arpa"), alpha=1.0, beta=1.0)
    recipe = recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update={"lm": lm})})
    export_model(babble_model(recipe), recipe, UNITS, folder / "exports")
    store = ModelStore(folder / "exports", load_exported)
    store.refresh()
    return store


def expected(store, phrases, language_model):
    model = store.get()
    scorer = scorer_with_phrases(model, phrases, language_model=language_model)
    session = Session(model, SessionOptions(), scorer)
    session.push(AUDIO)
    return session.finish()[-1].alternatives[0].text


def test_the_choices_differ(fused):
    assert len({expected(fused, *choice) for choice in CHOICES}) == len(CHOICES)


@pytest.mark.parametrize(("phrases", "language_model"), CHOICES)
def test_a_grpc_request_chooses_phrases_and_language_model(fused, phrases, language_model):
    config = pb.RecognitionConfig(
        phrases=[pb.Phrase(value=value, boost=boost) for value, boost in phrases],
        without_language_model=not language_model,
    )

    async def run():
        async with recognizer(fused) as (_, channel):
            return await stub(channel).Recognize(pb.RecognizeRequest(config=config, content=AUDIO))

    (result,) = asyncio.run(run()).results
    assert result.alternatives[0].transcript == expected(fused, phrases, language_model)


def told(store, configure, *messages):
    """What a WebSocket's client reads, to its end."""

    async def run():
        async with http_recognizer(store) as (_, address), connect(f"ws://{address}/v1/stream") as call:
            for message in (json.dumps({"type": "Configure", **configure}), *messages):
                await call.send(message)
            read = []
            with suppress(ConnectionClosed):
                while True:
                    read.append(json.loads(await call.recv()))
            return read, call.close_code

    return asyncio.run(run())


@pytest.mark.parametrize(("phrases", "language_model"), CHOICES)
def test_a_websocket_chooses_them_in_configure(fused, phrases, language_model):
    configure = {
        "phrases": [{"value": value, "boost": boost} if boost else {"value": value} for value, boost in phrases],
        "without_language_model": not language_model,
    }
    read, code = told(fused, configure, AUDIO, json.dumps({"type": "CloseStream"}))
    final = read[-2]["alternatives"][0]["transcript"]
    assert (final, code) == (expected(fused, phrases, language_model), 1000)


@pytest.mark.parametrize(
    ("configure", "reason"),
    [
        ({"phrases": "alpha"}, "phrases: expected a list of"),
        ({"phrases": ["alpha"]}, "found alpha"),
        ({"phrases": [{"value": "alpha", "weight": 1}]}, "found {'value': 'alpha', 'weight': 1}"),
        ({"phrases": [{"value": "alpha", "boost": True}]}, "found a boost of 'True'"),
        ({"phrases": [{"value": "alpha", "boost": "9"}]}, "found a boost of '9'"),
        ({"phrases": [{"value": "alpha", "boost": 21}]}, "boost 21: expected above 0, and 20 at most"),
        ({"phrases": [{"value": "alpha", "boost": 10**400}]}, "found a boost of '1000"),
        ({"phrases": [{"value": "omega"}]}, "omega"),
        ({"phrases": [{"value": "alpha"}] * 1001}, "more than 1000 phrases"),
        ({"without_language_model": 1}, "without_language_model=1: expected true or false"),
    ],
)
def test_what_is_no_choice_is_refused_by_name(fused, configure, reason):
    read, code = told(fused, configure)
    assert read[-1]["code"] == "INVALID_ARGUMENT"
    assert reason in read[-1]["message"]
    assert code == 4400
