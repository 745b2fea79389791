import numpy as np
import pytest
from pydantic import ValidationError
from rigs.small_corpus import digits_recipe

from sonorant.models.family import Inputs
from sonorant.models.label_synchronous import LabelSynchronous
from sonorant.models.registry import build_model
from sonorant.models.running_level import RunningLevel, peak_moments
from sonorant.recipe import Recipe
from sonorant.tensorflow import tf


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def level_with(floor):
    layer = RunningLevel(memory_vectors=4)
    layer.floor.assign([floor])
    return layer


@pytest.mark.parametrize("known", [True, False], ids=["lengths are known", "lengths are not known"])
def test_it_follows_its_recurrence_in_whatever_pieces(rng, known):
    layer = level_with(0.3)
    divide = layer if known else tf.function(layer, input_signature=[tf.TensorSpec(s) for s in ([2, None, 4], [2, 1])])
    features = rng.uniform(0, 1, (2, 33, 4)).astype(np.float32)
    features[1, :8] /= 20  # below the floor
    features[:, 20:] /= 2  # softer than what was before
    (peak,), pieces = layer.initial_state(2), []
    for piece in np.split(features, [1, 2, 13], axis=1):
        relative, peak = divide(tf.constant(piece), peak)
        pieces.append(relative)
    for b in range(2):
        p = 0.3
        for t, x in enumerate(features[b]):
            p = max(np.exp(-0.1 / 4) * p, x.mean(), 0.3)
            np.testing.assert_allclose(np.concatenate(pieces, axis=1)[b, t], x / p, rtol=1e-5)
        np.testing.assert_allclose(peak[b], [p], rtol=1e-5)


def test_a_soft_voice_comes_out_as_a_loud_one_and_a_softer_noise_stays_soft(rng):
    noise, speech = rng.uniform(0, 0.2, (1, 20, 6)), rng.uniform(0.8, 1, (1, 60, 6))
    loud = np.concatenate([noise, speech], axis=1).astype(np.float32)
    layer = RunningLevel(memory_vectors=4)
    layer.set_from(peak_moments([loud[0]]))
    heard, softer = (
        layer(tf.constant(gain * loud), *layer.initial_state(1))[0].numpy() for gain in (1, np.float32(0.7))
    )
    np.testing.assert_allclose(softer[0, 21:], heard[0, 21:], rtol=1e-5)
    assert heard[0, 20:].mean() == pytest.approx(0.97, abs=0.05)
    assert heard[0, :20].mean() < 0.3 > softer[0, :20].mean()


def test_the_floor_is_a_share_of_the_mean_of_the_utterances_peaks_and_stays_without_any():
    layer = RunningLevel(memory_vectors=4)
    for nothing in ([], [np.empty((0, 3), np.float32)], [np.zeros((4, 3), np.float32)]):
        layer.set_from(peak_moments(nothing))
        assert layer.floor.numpy() == [1]
    layer.set_from(peak_moments([np.float32([[0, 0, 0], [1, 2, 3]]), np.float32([[4, 4, 4], [0, 1, 0]])]))
    assert layer.floor.numpy() == pytest.approx([0.63 * 3])


def test_silence_stays_silence():
    layer = level_with(0.5)
    relative, peak = layer(tf.zeros((1, 5, 3)), *layer.initial_state(1))
    assert not relative.numpy().any()
    assert peak.numpy() == [[0.5]]


@pytest.mark.parametrize("family", ["lstm_ctc", "deep_speech", "bfa"])
def test_features_without_a_power_law_are_refused_by_name(family):
    values = digits_recipe().model_dump(mode="json") | {"model": {"family": family, "level": "running"}}
    values["features"] |= {"kind": "log_mel"}
    with pytest.raises(ValidationError, match=r"model\.level=running with features\.kind=log_mel: expected power_mel"):
        Recipe.model_validate(values)


def test_a_power_whose_floor_would_be_too_near_to_the_peaks_is_refused():
    values = digits_recipe().model_dump(mode="json") | {"model": {"family": "lstm_ctc", "level": "running"}}
    values["features"] |= {"power": 0.33}
    with pytest.raises(
        ValidationError, match=r"model\.level=running with features\.power=0\.33: expected at most 0\.1"
    ):
        Recipe.model_validate(values)


ATTENTION = {"layers": 2, "cells": 6, "pooling": [2], "decoder_cells": 6, "embedding": 4, "attention": 4, "readout": 6}
FAMILIES = {
    "lstm_ctc": {"layers": 2, "cells": 6},
    "delayed_lstm": {"layers": 2, "cells": 6, "delay_vectors": 3},
    "deep_speech": {"cells": 6, "context_vectors": 2},
    "bfa": ATTENTION,
    "mocha": ATTENTION,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_recognizes_a_soft_utterance_as_a_loud_one_to_its_last_frame(rng, family):
    section = {"family": family, "level": "running", "normalisation": "running", **FAMILIES[family]}
    values = digits_recipe().model_dump(mode="json") | {"model": section}
    model = build_model(Recipe.model_validate(values).model, bins=5, units=3, seed=1)
    loud = rng.uniform(3, 4, (1, 21, 5)).astype(np.float32)
    model.set_normalisation([loud[0]], lambda moments: moments)
    heard, softer = (frames_of(model, gain * loud) for gain in (1, np.float32(0.75)))
    np.testing.assert_allclose(softer, heard, atol=1e-4)
    assert np.abs(frames_of(model, np.float32(0.3) * loud) - heard).max() > 1e-3  # below the floor


def frames_of(model, features):
    inputs = Inputs(tf.constant(features), tf.constant([features.shape[1]]))
    return model.encode(*inputs[:2])[0] if isinstance(model, LabelSynchronous) else model.outputs(inputs).frames
