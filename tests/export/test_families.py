"""Each frame-synchronous family, exported: a stream has the bits of the whole, however it is cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, UNITS, babble_recipe, murmur
from rigs.whole_recording import padded, recognized

from services.recognizer_client.client import pcm16
from sonorant.export.loading import load_exported
from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.family import Inputs
from sonorant.models.registry import build_model
from sonorant.recipe import Recipe
from sonorant.serving.session import Session, SessionOptions
from sonorant.tensorflow import tf

CONVOLUTION_2D = {
    "frames": 3,
    "layers": [{"filters": 6, "width_frames": 2, "pool_bins": 3}, {"filters": 5, "width_frames": 2}],
    "size": 8,
}
SECTIONS = [
    {"family": "deep_speech", "cells": 12, "context_vectors": 2, "stride": 2},
    {"family": "conv_lstm_ctc", "width_vectors": 8, "stride": 3, "filters": 6, "layers": 2, "cells": 8},
    {"family": "delayed_lstm", "layers": 2, "cells": 8, "delay_vectors": 5, "normalisation": "running"}
    | {"level": "running"},
    {"family": "lstm_ctc", "layers": 2, "cells": 8, "convolution": {"frames": 3, "filters": 6, "size": 8}},
    {"family": "lstm_ctc", "layers": 2, "cells": 8, "convolution_2d": CONVOLUTION_2D},
]
VECTORS = 41


@pytest.fixture(scope="module", params=SECTIONS, ids=lambda section: section["family"])
def pair(request, tmp_path_factory):
    """A model in memory, and exported."""
    recipe = Recipe.model_validate(babble_recipe().model_dump(mode="json") | {"model": request.param})
    bins = FeatureExtractor(recipe.features, RATE_HZ).bins
    model = build_model(recipe.model, bins, UNITS.size, seed=3)
    rng = np.random.default_rng(0)
    model.set_normalisation([rng.normal(0.5, 2, (50, bins)).astype(np.float32)], lambda moments: moments)
    model.projection.kernel.assign(8 * model.projection.kernel)
    return model, load_exported(export_model(model, recipe, UNITS, tmp_path_factory.mktemp("exports")).path)


def streamed(exported, features, cuts=()):
    state, parts = exported.initial_state(), []
    for chunk in np.split(features, sorted(cuts)):
        if len(chunk):
            log_probs, state = exported.step(chunk, state)
            parts.append(log_probs)
    return np.concatenate([*parts, exported.finish(state)])


@given(cuts=st.sets(st.integers(1, VECTORS - 1), max_size=8))
@settings(max_examples=15, deadline=None)
def test_a_stream_has_the_bits_of_the_whole_however_it_is_cut(pair, cuts):
    _, exported = pair
    features = np.random.default_rng(2).normal(0.5, 2, (VECTORS, exported.extractor.bins)).astype(np.float32)
    np.testing.assert_array_equal(streamed(exported, features, cuts), streamed(exported, features))


def test_utterances_together_have_the_bits_of_each_alone(pair):
    _, exported = pair
    rng = np.random.default_rng(4)
    lengths = [1, 7, 8, *rng.integers(1, 60, 20).tolist()]
    utterances = [rng.normal(0.5, 2, (length, exported.extractor.bins)).astype(np.float32) for length in lengths]
    for features, outputs in zip(utterances, exported.outputs(utterances), strict=True):
        np.testing.assert_array_equal(outputs, streamed(exported, features))
    assert exported.outputs([]) == []


@pytest.mark.parametrize("vectors", [1, 7, 8, 20, 40, VECTORS])
def test_what_is_recognized_is_what_is_trained(pair, vectors):
    model, exported = pair
    features = np.random.default_rng(2).normal(0.5, 2, (vectors, exported.extractor.bins)).astype(np.float32)
    outputs = model.outputs(Inputs(tf.constant(features[None]), tf.constant([vectors])))
    expected = outputs.frames[0, : int(outputs.lengths[0])]
    assert len(expected) == model.framing.frames(vectors)
    np.testing.assert_allclose(streamed(exported, features), expected, atol=1e-4)


def test_a_session_has_the_same_result_in_chunks_and_at_once(pair):
    _, exported = pair
    audio, results = pcm16(murmur(1.5, seed=4)), []
    for size in (len(audio), 1000):
        session = Session(exported, SessionOptions(interim_results=False))
        for at in range(0, len(audio), size):
            session.push(audio[at : at + size])
        results.append(session.finish())
    assert results[0] == results[1]


def test_waveforms_have_the_same_transcripts_in_one_graph(pair):
    _, exported = pair
    waveforms = [murmur(seconds, seed=4) for seconds in (1.5, 0.02, 0.12, 0.9)]
    found = tf.saved_model.load(str(exported.folder)).signatures["transcribe"](**padded(waveforms))
    expected = [recognized(exported, waveform) for waveform in waveforms]
    assert [text.decode() for text in found["text"].numpy()] == [hypothesis.text for hypothesis in expected]
    np.testing.assert_allclose(found["confidence"], [hypothesis.confidence for hypothesis in expected], rtol=0.01)
