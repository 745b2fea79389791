import pytest
from rigs.babble import export_babble

from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport, read_manifest
from sonorant.export.other_decoding import export_with_decoding
from sonorant.recipe.loading import load_recipe


def test_the_next_version_differs_in_decoding_alone(tmp_path):
    folder = export_babble(tmp_path).path
    recipe = load_recipe(folder / "recipe.yaml")
    assert not export_with_decoding(folder, recipe).is_new
    wider = recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update={"beam": 3})})
    done = export_with_decoding(folder, wider)
    assert (done.is_new, done.version, done.path) == (True, 2, folder.parent / "2")
    old, new = read_manifest(folder), read_manifest(done.path)
    changed = {name for name in old.files | new.files if old.files.get(name) != new.files.get(name)}
    assert changed == {"recipe.yaml"}
    assert old.content_sha256 != new.content_sha256
    model = load_exported(done.path)
    assert (model.version, model.recipe) == (2, wider)
    (folder / "units.json").write_text("[]")
    with pytest.raises(BadExport, match=r"units\.json: SHA-256"):
        export_with_decoding(folder, wider)
