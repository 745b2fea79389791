import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import UNITS, babble_model, babble_recipe

from sonorant.export import saved_model
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport


@pytest.fixture
def copy(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "copy")


@pytest.fixture(scope="module")
def model(exported):
    return load_exported(exported)


@given(cuts=st.sets(st.integers(1, 59), max_size=8))
@settings(max_examples=20)
def test_steps_of_any_size_give_the_same_bits(model, cuts):
    features = np.random.default_rng(2).standard_normal((60, model.extractor.bins)).astype(np.float32)
    whole, last = model.step(features, model.initial_state())
    parts, state = [], model.initial_state()
    for chunk in np.split(features, sorted(cuts)):
        log_probs, state = model.step(chunk, state)
        parts.append(log_probs)
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(state.packed, last.packed)


def test_an_export_with_the_loop_over_time_alone_has_the_same_outputs(model, tmp_path, monkeypatch):
    def without_blocks(model):
        module, functions = signatures(model)
        return module, {name: functions[name] for name in ("start", "stream")}

    signatures = saved_model.signatures
    monkeypatch.setattr(saved_model, "signatures", without_blocks)
    recipe = babble_recipe()
    older = load_exported(saved_model.export_model(babble_model(recipe), recipe, UNITS, tmp_path).path)
    features = np.random.default_rng(3).standard_normal((40, model.extractor.bins)).astype(np.float32)
    states = model.initial_state(), older.initial_state()
    for chunk in np.split(features, [1, 3, 6, 10, 15, 16]):
        (expected, after), (found, older_after) = model.step(chunk, states[0]), older.step(chunk, states[1])
        np.testing.assert_allclose(found, expected, rtol=3e-6, atol=1e-5)  # sums in another order
        states = after, older_after
    np.testing.assert_allclose(states[1].packed, states[0].packed, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "variables/variables.data-00000-of-00001", "units.json", "recipe.yaml"]
)
def test_a_flipped_byte_is_refused_by_name(copy, name):
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(BadExport, match=f"{name}: SHA-256"):
        load_exported(copy)


def test_a_missing_file_is_refused_by_name(copy):
    (copy / "units.json").unlink()
    with pytest.raises(BadExport, match=r"units\.json: missing"):
        load_exported(copy)


def test_a_file_too_many_is_refused_by_name(copy):
    (copy / "variables/extra").write_text("?")
    with pytest.raises(BadExport, match=r"variables/extra: not in manifest\.json"):
        load_exported(copy)


@pytest.mark.parametrize("files", [None, [], {"units.json": 3}])
def test_files_without_checksums_are_no_manifest(copy, files):
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps(manifest | {"files": files}))
    with pytest.raises(BadExport, match=r"not a manifest .*expected checksums by name"):
        load_exported(copy)


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"model": "x", "state_shapes": 3}'])
def test_a_broken_manifest_is_refused(copy, manifest):
    (copy / "manifest.json").write_text(manifest)
    with pytest.raises(BadExport, match="not a manifest"):
        load_exported(copy)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(BadExport, match="expected an exported model"):
        load_exported(tmp_path)
