import shutil
from pathlib import Path

import pytest

from sonorant.serving.no_model import why_no_model


@pytest.fixture(scope="module")
def exports(store):
    return store.get().folder.parent.parent


def test_of_a_version_the_folder_to_give_is_named(exports, store):
    why = why_no_model(store.get().folder, {})
    assert why.endswith(f"no model to serve: is a version itself; expected {exports}")


def test_of_the_folder_of_one_model_likewise(exports, store):
    why = why_no_model(store.get().folder.parent, {})
    assert why.endswith(f"is the folder of one model; expected {exports}")


def test_of_the_current_folder_likewise(exports, store, monkeypatch):
    monkeypatch.chdir(store.get().folder)
    assert why_no_model(Path(), {}) == f".: no model to serve: is a version itself; expected {exports}"
    monkeypatch.chdir("..")
    assert why_no_model(Path(), {}) == f".: no model to serve: is the folder of one model; expected {exports}"


def test_of_a_run_likewise(exports, tmp_path):
    shutil.copytree(exports, tmp_path / "exports")
    assert why_no_model(tmp_path, {}).endswith(f"is the folder of a run; expected {tmp_path / 'exports'}")


def test_a_folder_that_is_missing_differs_from_an_empty_one(tmp_path):
    assert "no such folder; correct it, or make one with `sonorant export`" in why_no_model(tmp_path / "a", {})
    assert why_no_model(tmp_path, {}) == f"{tmp_path}: no model to serve; make one with `sonorant export`"


def test_the_refusal_of_the_first_version_is_said_and_others_are_counted(tmp_path):
    refusals = {tmp_path / "m" / "3": "manifest.json: not a manifest", tmp_path / "m" / "2": "a checksum differs"}
    why = why_no_model(tmp_path, refusals)
    assert why.endswith("no model to serve: m/3 is refused: manifest.json: not a manifest (1 more in the log)")
