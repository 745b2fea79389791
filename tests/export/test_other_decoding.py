import pytest
from rigs.babble import UNITS, babble_recipe

from sonorant.export.manifest import MANIFEST, BadExport, Manifest, checksums, read_manifest, verify_files
from sonorant.export.other_decoding import export_with_decoding
from sonorant.recipe.loading import dump_recipe, load_recipe


@pytest.fixture
def folder(tmp_path):
    """An export whose model is no SavedModel, as nothing loads it."""
    folder = tmp_path / "babble" / "1"
    (folder / "variables").mkdir(parents=True)
    (folder / "variables" / "variables.index").write_bytes(b"weights")
    (folder / "units.json").write_text(UNITS.to_json())
    (folder / "recipe.yaml").write_text(dump_recipe(babble_recipe()))
    manifest = Manifest("babble", 1, 8000, 160, 0.04, ((24,),), "abc", checksums(folder))
    (folder / MANIFEST).write_text(manifest.to_json())
    return folder


def decoding_of(recipe, **changes):
    return recipe.model_copy(update={"seed": 9, "decoding": recipe.decoding.model_copy(update=changes)})


def test_the_next_version_differs_in_decoding_alone(folder):
    recipe = load_recipe(folder / "recipe.yaml")
    assert not export_with_decoding(folder, recipe).is_new
    done = export_with_decoding(folder, decoding_of(recipe, beam=3))
    assert (done.is_new, done.version, done.path) == (True, 2, folder.parent / "2")
    old, new = read_manifest(folder), read_manifest(done.path)
    verify_files(done.path, new)
    assert {name for name in old.files | new.files if old.files.get(name) != new.files.get(name)} == {"recipe.yaml"}
    assert (new.version, new.bins, new.state_shapes) == (2, old.bins, old.state_shapes)
    assert new.content_sha256 != old.content_sha256
    written = load_recipe(done.path / "recipe.yaml")
    assert written.decoding.beam == 3
    assert written == decoding_of(recipe, beam=3).model_copy(update={"seed": recipe.seed})


def test_the_language_models_of_the_recipe_are_those_of_the_version(folder, tmp_path):
    recipe = load_recipe(folder / "recipe.yaml")
    for version, (name, text) in enumerate((("a.arpa", "one"), ("b.arpa.gz", "two")), 2):
        (tmp_path / name).write_text(text)
        with_lm = load_recipe(folder / "recipe.yaml").model_dump(mode="json")
        with_lm["decoding"]["lm"] = {"path": str(tmp_path / name)}
        done = export_with_decoding(folder, type(recipe).model_validate(with_lm))
        assert done.version == version
        verify_files(done.path, read_manifest(done.path))
        path = load_recipe(done.path / "recipe.yaml").decoding.lm.path
        assert (done.path / path).read_text() == text
        assert [one.name for one in done.path.glob("lm*")] == [path]
        folder = done.path
        with_lm["decoding"]["lm"]["path"] = str(folder / path)
        assert not export_with_decoding(folder, type(recipe).model_validate(with_lm)).is_new


def test_a_damaged_version_is_not_copied(folder):
    (folder / "units.json").write_text("[]")
    with pytest.raises(BadExport, match=r"units\.json: SHA-256"):
        export_with_decoding(folder, decoding_of(load_recipe(folder / "recipe.yaml"), beam=3))
    assert [path.name for path in folder.parent.iterdir()] == ["1"]
