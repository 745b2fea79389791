"""Exported models by way of a store."""

import json

import pytest

from services.storage.exports import pull_exports, push_exports
from services.storage.objects import ObjectStore
from sonorant.export.manifest import BadExport, Manifest, checksums


def write_version(exports, version, content):
    folder = exports / "digits" / str(version)
    (folder / "variables").mkdir(parents=True)
    (folder / "variables" / "data").write_bytes(content)
    manifest = Manifest("digits", version, 8000, 8, 0.01, (), "", checksums(folder))
    (folder / "manifest.json").write_text(manifest.to_json())


def held(exports):
    return {str(path.relative_to(exports)): path.read_bytes() for path in exports.rglob("*") if path.is_file()}


@pytest.fixture
def store(url):
    return ObjectStore(url, 0)


def test_versions_arrive_whole_one_after_the_other(store, tmp_path):
    made, served = tmp_path / "made", tmp_path / "served"
    for version, content in ((1, b"one"), (2, b"two")):
        write_version(made, version, content)
        push_exports(store, made)
        pull_exports(store, served)
        assert held(served) == held(made)


def test_labels_come_as_the_store_has_them_and_stay_without_it(store, tmp_path):
    labels = tmp_path / "digits/labels.json"
    for content in (b'{"stable": 1}', b'{"stable": 2}'):
        store.write("exports/digits/labels.json", content)
        pull_exports(store, tmp_path)
        assert labels.read_bytes() == content
    store.write("exports/.other/labels.json", b"{}")
    store.remove(["exports/digits/labels.json"])
    pull_exports(store, tmp_path)
    assert held(tmp_path / "digits") == {"labels.json": b'{"stable": 2}'}
    assert not (tmp_path / ".other").exists()


def test_a_version_without_a_manifest_is_not_there_yet(store, tmp_path):
    write_version(tmp_path / "made", 1, b"one")
    store.upload(tmp_path / "made/digits/1/variables/data", "exports/digits/1/variables/data")
    pull_exports(store, tmp_path / "served")
    assert not (tmp_path / "served").exists()
    push_exports(store, tmp_path / "made")
    pull_exports(store, tmp_path / "served")
    assert held(tmp_path / "served") == held(tmp_path / "made")


def test_what_is_not_what_its_manifest_says_is_not_taken(store, tmp_path):
    write_version(tmp_path / "made", 1, b"one")
    push_exports(store, tmp_path / "made")
    store.write("exports/digits/1/variables/data", b"0ne")
    with pytest.raises(BadExport, match="SHA-256"):
        pull_exports(store, tmp_path / "served")
    assert held(tmp_path / "served") == {}


def test_a_damaged_version_keeps_neither_labels_nor_later_versions_away(store, tmp_path):
    for version in (1, 2):
        write_version(tmp_path / "made", version, b"one")
    push_exports(store, tmp_path / "made")
    store.write("exports/digits/1/variables/data", b"0ne")
    store.write("exports/digits/labels.json", b'{"stable": 2}')
    with pytest.raises(BadExport, match="SHA-256"):
        pull_exports(store, tmp_path / "served")
    folder = tmp_path / "served/digits"
    assert sorted(path.name for path in folder.iterdir()) == ["2", "labels.json"]


@pytest.mark.parametrize("name", ["../2/data", "/etc/data"])
def test_a_manifest_does_not_write_outside_its_folder(store, tmp_path, name):
    write_version(tmp_path / "made", 1, b"one")
    manifest = json.loads((tmp_path / "made/digits/1/manifest.json").read_text())
    store.write("exports/digits/1/manifest.json", json.dumps(manifest | {"files": {name: ""}}).encode())
    with pytest.raises(BadExport, match="outside"):
        pull_exports(store, tmp_path / "served")
