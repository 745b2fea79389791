from dataclasses import replace

import pytest
import yaml
from rigs.babble import export_babble

from benchmarks.load.models import copy_version, models_of
from sonorant.errors import Unavailable
from sonorant.export.manifest import MANIFEST, checksums, read_manifest, verify_files

LM = {"path": "lm.arpa", "alpha": 0.5, "beta": 1.0}


def add_language_model(version):
    recipe = version / "recipe.yaml"
    document = yaml.safe_load(recipe.read_text())
    document["decoding"]["lm"] = LM
    recipe.write_text(yaml.safe_dump(document))
    (version / "lm.arpa").write_text("counts")
    (version / MANIFEST).write_text(replace(read_manifest(version), files=checksums(version)).to_json())


def test_a_model_with_a_language_model_is_measured_without_it_too(tmp_path):
    version = export_babble(tmp_path / "run").path
    add_language_model(version)
    models = models_of(tmp_path / "run", tmp_path / "served")
    assert [(model.name, model.label) for model in models] == [
        ("babble", "babble, with LM"),
        ("babble-without-lm", "babble, without LM"),
    ]
    found = {}
    for model in models:
        served = tmp_path / "served" / model.name / "1"
        verify_files(served, read_manifest(served))
        found[model.name] = yaml.safe_load((served / "recipe.yaml").read_text())["decoding"]["lm"]
    assert found == {"babble": LM, "babble-without-lm": None}


def test_the_newest_version_is_served_alone(tmp_path):
    older, newest = (export_babble(tmp_path / "run").path for _ in range(2))
    (older / "units.json").unlink()
    (model,) = models_of(tmp_path / "run", tmp_path / "served")
    assert (model.name, model.label) == ("babble", "")
    (served,) = (tmp_path / "served" / "babble").iterdir()
    assert served.name == "1"
    verify_files(served, read_manifest(served))
    assert checksums(served) == checksums(newest)


def test_a_copy_is_a_version_of_its_own_and_no_draft_stays(tmp_path):
    first = export_babble(tmp_path / "run").path
    copy_version(first, first.with_name("2"))
    assert sorted(path.name for path in first.parent.iterdir()) == ["1", "2"]
    assert read_manifest(first.with_name("2")).version == 2
    verify_files(first.with_name("2"), read_manifest(first.with_name("2")))


def test_without_a_model_the_folder_is_named(tmp_path):
    with pytest.raises(Unavailable, match=str(tmp_path)):
        models_of(tmp_path, tmp_path / "served")
