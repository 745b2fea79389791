"""TensorFlow Serving's REST status of models, at the port of HTTP."""

import asyncio
import json
import ssl

import httpx2 as httpx
import pytest
from rigs.babble import export_babble
from rigs.http_recognizer import http_recognizer

from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore

PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without the system's certificates, which take long to load
OK = {"error_code": "OK", "error_message": ""}


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Versions: 1 is stable, 2 the canary, 3 damaged, though the label `next` asks for it."""
    exports = tmp_path_factory.mktemp("labelled")
    for seed in (1, 2, 3):
        path = export_babble(exports, seed=seed).path
    (path / "units.json").write_bytes(b"?")
    (exports / "babble/labels.json").write_text(json.dumps({"stable": 1, "canary": 2, "next": 3}))
    store = ModelStore(exports, load_exported)
    store.refresh()
    return store


def shown(store, *paths):
    """Status and content of each path below /v1/models."""

    async def run():
        async with http_recognizer(store) as (_, address), httpx.AsyncClient(verify=PLAIN) as client:
            answers = [await client.get(f"http://{address}/v1/models/{path}") for path in paths]
            return [(answer.status_code, answer.json()) for answer in answers]

    return asyncio.run(run())


def version(number, state="AVAILABLE"):
    return {"version": number, "state": state, "status": OK}


def test_a_model_is_openais_object_with_the_status_of_its_versions(labelled):
    ((status, model),) = shown(labelled, "babble")
    refused, *others = model.pop("model_version_status")
    assert (status, model) == (200, {"id": "babble", "object": "model", "created": 0, "owned_by": "sonorant"})
    assert others == [version("2"), version("1")]
    assert (refused["version"], refused["state"], refused["status"]["error_code"]) == (
        "3",
        "END",
        "FAILED_PRECONDITION",
    )
    assert "units.json: SHA-256" in refused["status"]["error_message"]


def test_a_version_has_its_status_by_number_and_by_label(labelled):
    found = shown(labelled, "babble/versions/1", "babble/labels/stable", "babble/labels/canary")
    assert found == [(200, {"model_version_status": [version(number)]}) for number in ("1", "1", "2")]
    (_, refused), (_, named) = shown(labelled, "babble/versions/3", "babble@canary")
    assert [one["state"] for one in refused["model_version_status"]] == ["END"]
    assert (named["id"], named["model_version_status"]) == ("babble@canary", [version("2")])


def test_a_model_of_which_nothing_is_in_service_says_why(tmp_path):
    (export_babble(tmp_path).path / "units.json").write_bytes(b"?")
    store = ModelStore(tmp_path, load_exported)
    store.refresh()
    ((status, model),) = shown(store, "babble")
    (refused,) = model.pop("model_version_status")
    assert (status, model) == (200, {})  # no model of OpenAI's
    assert (refused["version"], refused["state"]) == ("1", "END")
    assert "units.json: SHA-256" in refused["status"]["error_message"]


def test_what_is_not_there_is_not_found(labelled):
    paths = (
        "other",
        "other/versions/1",
        "babble/versions/7",
        "babble/versions/x",
        f"babble/versions/{'9' * 5000}",
        "babble/labels/next",
        "babble/labels/",
        "babble/metadata",
        "babble/versions/1/metadata",
    )
    assert [(status, found["error"]["code"]) for status, found in shown(labelled, *paths)] == [
        (404, "model_not_found")
    ] * len(paths)
