"""The convolution over frequency, beside TensorFlow's own, and in every family that may have one."""

import numpy as np
import pytest
from pydantic import ValidationError
from training.tiny import tiny_recipe

from sonorant.features.front_end import FeatureExtractor
from sonorant.features.section import FeaturesRecipe
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.family import Inputs
from sonorant.models.frequency_convolution import FrequencyConvolution
from sonorant.models.registry import build_model
from sonorant.models.section import DelayedLstmRecipe, LstmCtcRecipe
from sonorant.recipe import Recipe
from sonorant.tensorflow import tf

BINS = 20  # of a frame
SECTION = {"frames": 3, "filters": 5, "width_bins": 4, "pool_bins": 3, "pooled_width_bins": 2, "size": 7}
RECIPE = FrequencyConvolutionRecipe(**SECTION)


@pytest.fixture
def layer():
    layer = FrequencyConvolution(3 * BINS, RECIPE, seed=1)
    for part in (*layer.convolutions, layer.projection):
        part.bias.assign(np.random.default_rng(2).normal(size=part.bias.shape))
    return layer


def vectors(*shape):
    return tf.constant(np.random.default_rng(3).normal(size=(*shape, 3 * BINS)), tf.float32)


def by_tensorflow(layer, values):
    """The same by convolutions and pooling of TensorFlow, a vector for a batch of its own."""
    first, second = layer.convolutions
    spectra = tf.transpose(tf.reshape(values, (-1, 3, BINS)), (0, 2, 1))
    filters = tf.reshape(first.kernel, (4, 3, 5))
    found = tf.nn.relu(tf.nn.conv1d(spectra, filters, 1, "VALID") + first.bias)
    found = tf.nn.max_pool1d(found, 3, 3, "VALID")
    filters = tf.reshape(second.kernel, (2, 5, 5))
    found = tf.nn.relu(tf.nn.conv1d(found, filters, 1, "VALID") + second.bias)
    found = tf.reshape(found, (*values.shape[:2], -1))
    return found @ layer.projection.kernel + layer.projection.bias


def test_values_and_gradients_are_those_of_tensorflows_convolutions(layer):
    values = vectors(2, 6)
    weights = [weight.value for weight in layer.trainable_weights]
    outcomes = []
    for convolution in (layer, lambda values: by_tensorflow(layer, values)):
        with tf.GradientTape() as tape:
            tape.watch(values)
            found = convolution(values)
            loss = tf.reduce_sum(tf.sin(found))
        outcomes.append([found, *tape.gradient(loss, [values, *weights])])
    assert outcomes[0][0].shape == (2, 6, 7)
    assert len(outcomes[0]) == 2 + 6
    for one, other in zip(*outcomes, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_a_move_by_a_pool_moves_the_maxima_by_one():
    maxima = 5
    recipe = FrequencyConvolutionRecipe(**SECTION | {"pooled_width_bins": 1, "size": 5 * maxima})
    layer = FrequencyConvolution(3 * BINS, recipe, seed=1)
    layer.convolutions[1].kernel.assign(np.eye(5))  # so that the maxima pass the second layer as they are
    layer.projection.kernel.assign(np.eye(5 * maxima))
    spectrum = np.random.default_rng(5).normal(size=(3, BINS + 3)).astype(np.float32)
    low, high = (tf.constant(part.reshape(1, 1, -1)) for part in (spectrum[:, 3:], spectrum[:, :-3]))
    first, second = (layer(vector).numpy().reshape(maxima, 5) for vector in (low, high))
    np.testing.assert_allclose(second[1:], first[:-1], atol=1e-6)
    assert np.abs(second[0] - first[0]).max() > 1e-3


def test_a_vector_depends_on_no_other(layer):
    values = vectors(2, 6)
    whole = layer(values)
    changed = layer(tf.concat([values[:, :3], tf.zeros((2, 1, 3 * BINS)), values[:, 4:]], 1))
    np.testing.assert_allclose(np.delete(changed, 3, 1), np.delete(whole, 3, 1), atol=1e-6)
    assert np.abs(changed[:, 3] - whole[:, 3]).max() > 1e-3


def test_without_a_recipe_vectors_stay_as_they_are():
    layer = FrequencyConvolution(9, None, seed=1)
    values = tf.random.normal((2, 3, 9))
    assert layer(values) is values
    assert layer.size == 9
    assert layer.weights == []


@pytest.mark.parametrize(
    "section",
    [
        LstmCtcRecipe(cells=6, convolution=RECIPE),
        DelayedLstmRecipe(family="delayed_lstm", layers=2, cells=6, delay_vectors=2, convolution=RECIPE),
    ],
)
def test_a_stream_of_single_vectors_is_as_the_whole(section):
    model = build_model(section, 3 * BINS, units=4, seed=2)
    values = vectors(2, 9)
    whole = model.outputs(Inputs(values, tf.constant([9, 9]))).frames
    lead = model.framing.lead
    state, found = model.initial_state(2), []
    for vector in tf.split(tf.concat([values, tf.zeros((2, lead, 3 * BINS))], 1), 9 + lead, 1):
        log_probs, state = model.step(vector, state)
        found.append(log_probs)
    np.testing.assert_allclose(tf.concat(found[lead:], 1), whole, atol=1e-5)


def test_no_layer_begins_with_the_random_numbers_of_another():
    model = build_model(LstmCtcRecipe(cells=6, convolution=RECIPE), 3 * BINS, units=4, seed=0)
    begun = [weight.numpy().reshape(-1)[:6] for weight in model.trainable_weights if "bias" not in weight.path]
    correlations = np.corrcoef(np.stack(begun)) - np.eye(len(begun))
    assert len(begun) == 6
    assert np.abs(correlations[:3]).max() < 0.99  # the convolution's, with each other and with those behind


def test_vectors_are_frame_after_frame_as_the_front_end_stacks_them():
    waveform = np.random.default_rng(6).normal(size=4000).astype(np.float32)
    stacked, single = (
        FeatureExtractor(FeaturesRecipe(mel_bins=BINS, stack=n, stride=n), 8000)(waveform) for n in (3, 1)
    )
    np.testing.assert_array_equal(stacked.reshape(-1, BINS), single[: 3 * len(stacked)])


def recipe(convolution, **features):
    values = tiny_recipe().model_dump(mode="json")
    values["features"] |= {"mel_bins": BINS, "stack": 3, "stride": 3, **features}
    values["model"] = {"family": "lstm_ctc", "cells": 6, "convolution": SECTION | convolution}
    return Recipe.model_validate(values)


@pytest.mark.parametrize(
    ("convolution", "features", "message"),
    [
        ({"frames": 2}, {}, "model.convolution.frames=2 with features.stack=3"),
        ({}, {"kind": "mfcc", "cepstra": 13}, "features.kind=mfcc"),
        ({}, {"kind": "spectrogram"}, "features.kind=spectrogram"),
        ({"width_bins": 21}, {}, "width_bins=21 with features.mel_bins=20"),
        ({"width_bins": 20}, {}, "pooled_width_bins=2: must be at most the number of maxima, 0 with"),
        ({"pooled_width_bins": 6}, {}, "pooled_width_bins=6: must be at most the number of maxima, 5 with"),
        ({"filters": 0}, {}, r"convolution\.filters\n.*greater than or equal to 1"),
    ],
)
def test_what_cannot_be_convolved_is_refused_by_name(convolution, features, message):
    with pytest.raises(ValidationError, match=message):
        recipe(convolution, **features)


def test_the_smallest_that_fits_has_one_position():
    section = recipe({"pooled_width_bins": 5}).model
    assert section.convolution.positions(BINS) == 1
    model = build_model(section, 3 * BINS, units=4)
    assert model.outputs(Inputs(vectors(1, 2), tf.constant([2]))).frames.shape == (1, 2, 5)
