import shutil

import numpy as np
from rigs.babble import murmur

from sonorant.export.loading import load_exported
from sonorant.export.manifest import read_manifest
from sonorant.export.other_decoding import export_with_decoding
from sonorant.export.weights import exported_weights
from sonorant.recipe.loading import load_recipe
from sonorant.tensorflow import tf


def with_decoding(folder, **changes):
    recipe = load_recipe(folder / "recipe.yaml")
    changed = recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update=changes)})
    return export_with_decoding(folder, changed).path


def test_the_signature_has_the_decoding_of_its_version_and_weights_stay(exported, tmp_path):
    first = shutil.copytree(exported, tmp_path / "babble" / "1")
    greedy = with_decoding(first, beam=1)
    biased = with_decoding(greedy, phrases=("alpha",))
    again = with_decoding(biased, phrases=(), beam=8)
    assert [bool(read_manifest(folder).without_transcribe) for folder in (greedy, biased, again)] == [
        False,
        True,
        False,
    ]
    waveform = murmur(3.0)
    inputs = {"audio": tf.constant(waveform[None]), "lengths": tf.constant([len(waveform)])}
    modules = [tf.saved_model.load(str(folder)).signatures for folder in (first, greedy, biased, again)]
    assert ["transcribe" in signatures for signatures in modules] == [True, True, False, True]
    one, alone, _, other = (
        signatures["transcribe"](**inputs) if "transcribe" in signatures else None for signatures in modules
    )
    assert alone["confidence"] == 1  # a beam of one
    assert one["confidence"] < 1
    np.testing.assert_array_equal(other["confidence"], one["confidence"])
    assert other["text"] == one["text"]
    for name, weight in exported_weights(first).items():
        np.testing.assert_array_equal(exported_weights(again)[name], weight)
    features = np.random.default_rng(0).standard_normal((20, load_exported(first).extractor.bins)).astype(np.float32)
    steps = [model.step(features, model.initial_state())[0] for model in map(load_exported, (first, again))]
    np.testing.assert_array_equal(*steps)
