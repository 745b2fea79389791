import json

import numpy as np
import pytest
from rigs.babble import RATE_HZ, UNITS, babble_model, babble_recipe
from rigs.mean_free import MeanFree

from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.family import Inputs
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.tensorflow import tf


class Drifting(LstmCtc):
    """A model whose stream forgets its state."""

    def step(self, features, state):
        log_probs, _ = super().step(features, state)
        return log_probs, state


class Leaky(MeanFree):
    """A model whose utterances depend on their padding."""

    def _mean(self, features, lengths):
        return tf.reduce_mean(features, 1, keepdims=True)


def test_versions_count_up(tmp_path):
    recipe = babble_recipe()
    exports = [export_model(babble_model(recipe, seed), recipe, UNITS, tmp_path) for seed in (1, 2)]
    assert [(e.version, e.is_new) for e in exports] == [(1, True), (2, True)]
    assert sorted(path.name for path in (tmp_path / "babble").iterdir()) == ["1", "2"]


@pytest.mark.parametrize("normalisation", ["global", "running"])
def test_the_exported_model_gives_what_the_trained_one_gives(tmp_path, normalisation):
    recipe = babble_recipe(normalisation=normalisation)
    trained = babble_model(recipe, seed=2)
    model = load_exported(export_model(trained, recipe, UNITS, tmp_path).path)
    features = np.random.default_rng(5).standard_normal((1, 70, model.extractor.bins)).astype(np.float32)
    expected = trained.outputs(Inputs(tf.constant(features), tf.constant([70]))).frames.numpy()[0]
    np.testing.assert_allclose(model.step(features[0], model.initial_state())[0], expected, rtol=1e-4, atol=1e-4)


def test_a_model_whose_first_state_is_not_zero_starts_with_it(tmp_path):
    recipe = babble_recipe(normalisation="running")
    trained = babble_model(recipe, seed=2)
    model = load_exported(export_model(trained, recipe, UNITS, tmp_path).path)
    packed = np.concatenate([np.ravel(state) for state in trained.initial_state(1)])
    np.testing.assert_array_equal(model.initial_state().packed, packed)
    assert np.abs(packed[-1]) > 0


def test_the_signature_is_the_documented_one_and_takes_batches(exported):
    stream = tf.saved_model.load(str(exported)).signatures["stream"]
    model = load_exported(exported)
    features = np.random.default_rng(5).standard_normal((3, 11, model.extractor.bins)).astype(np.float32)
    state = tf.saved_model.load(str(exported)).signatures["start"](streams=tf.constant(3))
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == {f"state_{i}": (3, 24) for i in range(4)}
    outputs = stream(features=tf.constant(features), **state)
    assert set(outputs) == {"log_probs", "state_0", "state_1", "state_2", "state_3"}
    assert outputs["log_probs"].shape == (3, 11, UNITS.size + 1)
    alone, _ = model.step(features[1], model.initial_state())
    np.testing.assert_allclose(outputs["log_probs"][1], alone, rtol=3e-6, atol=2e-5)  # sums in another order


def test_what_is_beside_the_graph(exported):
    manifest = json.loads((exported / "manifest.json").read_text())
    assert (manifest["model"], manifest["version"], manifest["sample_rate_hz"]) == ("babble", 1, RATE_HZ)
    assert manifest["vector_seconds"] == pytest.approx(0.03)
    assert manifest["state_shapes"] == [[24]] * 4
    files = {path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == files - {"manifest.json"}
    model = load_exported(exported)
    assert (model.recipe, model.units) == (babble_recipe(), UNITS)


def test_a_graph_that_differs_from_the_model_is_not_exported(tmp_path):
    recipe = babble_recipe()
    sound = babble_model(recipe)
    drifting = Drifting(recipe.model, sound.bins, UNITS.size)
    drifting.assign(sound.named_weights())
    with pytest.raises(BadExport, match="differs from the trained one, on the whole in a padded batch, by"):
        export_model(drifting, recipe, UNITS, tmp_path)
    assert list((tmp_path / "babble").iterdir()) == []


def test_a_model_without_a_streaming_form_has_all_its_frames_at_the_end(whole, tmp_path):
    trained = MeanFree(sound_bins(), UNITS.size)
    features = np.random.default_rng(5).standard_normal((1, 40, trained.bins)).astype(np.float32)
    state = whole.initial_state()
    for chunk in np.split(features[0], [1, 17]):
        log_probs, state = whole.step(chunk, state)
        assert log_probs.shape == (0, UNITS.size + 1)
    expected = trained.outputs(Inputs(tf.constant(features), tf.constant([40]))).frames[0]
    np.testing.assert_allclose(whole.finish(state), expected, atol=1e-5)
    assert whole.finish(whole.initial_state()).shape == (0, UNITS.size + 1)


def test_the_signature_of_whole_utterances_is_the_documented_one_and_takes_padded_batches(whole):
    function = tf.saved_model.load(str(whole.folder)).signatures["whole"]
    features = np.random.default_rng(6).standard_normal((2, 30, sound_bins())).astype(np.float32)
    features[1, 20:] = 0
    outputs = function(features=tf.constant(features), lengths=tf.constant([30, 20]))
    np.testing.assert_array_equal(outputs["lengths"], [30, 20])
    _, state = whole.step(features[1, :20], whole.initial_state())
    np.testing.assert_allclose(outputs["log_probs"][1, :20], whole.finish(state), atol=1e-5)
    manifest = json.loads((whole.folder / "manifest.json").read_text())
    assert (manifest["signature"], manifest["state_shapes"]) == ("whole", [])


def test_a_model_that_depends_on_padding_is_not_exported(tmp_path):
    with pytest.raises(BadExport, match="in a padded batch, by"):
        export_model(Leaky(sound_bins(), UNITS.size), babble_recipe(), UNITS, tmp_path)
    assert list((tmp_path / "babble").iterdir()) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    model = MeanFree(sound_bins(), UNITS.size)
    return load_exported(export_model(model, babble_recipe(), UNITS, tmp_path_factory.mktemp("whole")).path)


def sound_bins():
    return FeatureExtractor(babble_recipe().features, RATE_HZ).bins
