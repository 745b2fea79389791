"""The convolution over time and frequency, beside TensorFlow's own, and in every family that may have one."""

import numpy as np
import pytest
from pydantic import TypeAdapter
from rigs.tiny_bfa import SECTION as BFA
from rigs.tiny_mocha import SECTION as MOCHA

from sonorant.models.batch_normalisation import BatchNormalisation, sums_about
from sonorant.models.convolution_2d import Convolution2d
from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.family import Inputs
from sonorant.models.registry import build_model
from sonorant.models.section import DelayedLstmRecipe, LstmCtcRecipe
from sonorant.recipe import Recipe
from sonorant.tensorflow import tf

FRAMES, BINS = 9, 14
LAYERS = [
    {"filters": 5, "width_frames": 4, "width_bins": 3, "stride_frames": 1, "pool_bins": 3},
    {"filters": 4, "width_frames": 2, "width_bins": 2, "stride_frames": 2, "pool_bins": 1},
]
SECTION = {"frames": FRAMES, "layers": LAYERS, "size": 6}
RECIPE = Convolution2dRecipe.model_validate(SECTION)
FREQUENCY = {"frames": FRAMES, "filters": 5, "width_bins": 2, "pool_bins": 2, "pooled_width_bins": 1, "size": 7}
FREQUENCY_RECIPE = FrequencyConvolutionRecipe(**FREQUENCY)
LENGTHS = [7, 3, 5]
SEED = tf.constant([1, 2])


def random(layer):
    """Give every weight a value of its own kind: no scale is 1, and no mean 0."""
    rng = np.random.default_rng(2)
    for weight in layer.weights:
        if weight.path.endswith(("variance", "scale")):
            weight.assign(rng.uniform(0.5, 2, weight.shape))
        elif weight.path.endswith(("bias", "offset", "mean")):
            weight.assign(rng.normal(size=weight.shape))
    return layer


@pytest.fixture(params=[True, False], ids=["normalised", "plain"])
def layer(request, compiled):
    recipe = RECIPE.model_copy(update={"batch_normalisation": request.param})
    return random(by_kernel(Convolution2d(FRAMES * BINS, recipe, seed=1), compiled))


@pytest.fixture
def normalised(compiled):
    return random(by_kernel(Convolution2d(FRAMES * BINS, RECIPE, seed=1), compiled))


@pytest.fixture(params=[False, True], ids=["tensorflow", "compiled"])
def compiled(request):
    return request.param


def by_kernel(layer, compiled):
    for convolution in layer.convolutions:
        convolution.compiled = compiled
    return layer


def vectors(*shape):
    return tf.constant(np.random.default_rng(3).normal(size=(*shape, FRAMES * BINS)), tf.float32)


def by_tensorflow(layer, values, own_moments=False):
    """The same of vectors [N, bins] by convolutions, pooling and batch normalisation of TensorFlow."""
    found, channels = tf.reshape(values, (-1, FRAMES, BINS, 1)), 1
    for i, (convolution, section) in enumerate(zip(layer.convolutions, layer.recipe.layers, strict=True)):
        shape = (section.width_bins, section.width_frames, channels, section.filters)
        kernel = tf.transpose(tf.reshape(convolution.kernel, shape), (1, 0, 2, 3))
        found = tf.nn.conv2d(found, kernel, 1, "VALID")[:, :: section.stride_frames] + convolution.bias
        found, channels = (
            tf.nn.max_pool2d(found, (1, section.pool_bins), (1, section.pool_bins), "VALID"),
            section.filters,
        )
        found = tf.nn.relu(found)
        if layer.batch_normalisation:
            normal = layer.batch_normalisation[i]
            moments = tf.nn.moments(found, (0, 1, 2)) if own_moments else (normal.mean, normal.variance)
            found = tf.nn.batch_normalization(found, *moments, normal.offset, normal.scale, 1e-3)
    flat = tf.reshape(tf.transpose(found, (0, 2, 1, 3)), (len(values), -1))
    return flat @ layer.projection.kernel + layer.projection.bias


def test_values_are_those_of_tensorflows_layers(layer):
    values = vectors(2, 6)
    found = layer(values)
    assert found.shape == (2, 6, 6)
    np.testing.assert_allclose(
        tf.reshape(found, (12, 6)), by_tensorflow(layer, tf.reshape(values, (12, -1))), atol=5e-5
    )


def test_training_is_that_of_tensorflows_layers_on_the_vectors_that_lengths_count(layer):
    values, present = vectors(3, 7), tf.where(tf.sequence_mask(LENGTHS, 7))
    weights = [weight.value for weight in layer.trainable_weights]
    outcomes = []
    for convolved in (
        lambda: tf.gather_nd(layer(values, tf.constant(LENGTHS)), present),
        lambda: by_tensorflow(layer, tf.gather_nd(values, present), own_moments=True),
    ):
        with tf.GradientTape() as tape:
            tape.watch(values)
            found = convolved()
            loss = tf.reduce_sum(tf.sin(found))
        outcomes.append([found, *tape.gradient(loss, [values, *weights])])
    assert len(outcomes[0]) == 2 + len(weights)
    for one, other in zip(*outcomes, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4)


def test_vectors_behind_the_lengths_become_zeros_in_training(layer):
    found = layer(vectors(3, 7), tf.constant(LENGTHS)).numpy()
    assert not found[~tf.sequence_mask(LENGTHS, 7).numpy()].any()
    assert found[tf.sequence_mask(LENGTHS, 7).numpy()].all()


def test_moments_move_towards_those_of_the_values(normalised):
    for normal in normalised.batch_normalisation:
        normal.mean.assign(tf.fill(normal.mean.shape, 3.0))  # from which squares are counted
    values = vectors(4, 9)
    normalised(values, tf.fill((4,), 9))
    for normal in normalised.batch_normalisation:
        normal.update(normal.sums)  # the first replaces them
    np.testing.assert_allclose(
        normalised(values),
        tf.reshape(by_tensorflow(normalised, tf.reshape(values, (36, -1)), True), (4, 9, 6)),
        atol=2e-4,
    )


def test_no_vector_at_all_changes_no_moment(normalised):
    before = [np.array(weight) for weight in normalised.weights]
    assert not normalised(vectors(2, 3), tf.constant([0, 0])).numpy().any()
    for normal in normalised.batch_normalisation:
        normal.update(normal.sums)
    for one, other in zip(before, normalised.weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_folded_weights_need_no_normalisation(layer):
    plain = Convolution2d(FRAMES * BINS, RECIPE.model_copy(update={"batch_normalisation": False}), seed=5)
    for part, (kernel, bias) in zip([*plain.convolutions, plain.projection], layer.folded(), strict=True):
        part.kernel.assign(kernel)
        part.bias.assign(bias)
    values = vectors(2, 6)
    np.testing.assert_allclose(plain(values), layer(values), atol=5e-5)


def test_a_vector_depends_on_no_other(layer):
    values = vectors(2, 6)
    whole = layer(values)
    changed = layer(tf.concat([values[:, :3], tf.zeros((2, 1, FRAMES * BINS)), values[:, 4:]], 1))
    np.testing.assert_allclose(np.delete(changed, 3, 1), np.delete(whole, 3, 1), atol=1e-6)
    assert np.abs(changed[:, 3] - whole[:, 3]).max() > 1e-3
    np.testing.assert_allclose(layer.one_by_one(values), whole, atol=1e-5)


@pytest.mark.parametrize(
    "section",
    [
        LstmCtcRecipe(cells=6, convolution_2d=RECIPE),
        DelayedLstmRecipe(family="delayed_lstm", layers=2, cells=6, delay_vectors=2, convolution_2d=RECIPE),
    ],
    ids=lambda section: section.family,
)
def test_a_stream_of_single_vectors_is_as_the_whole(section):
    model = build_model(section, FRAMES * BINS, units=4, seed=2)
    random(model.convolution)
    values = vectors(2, 9)
    whole = model.outputs(Inputs(values, tf.constant([9, 9]))).frames
    lead = model.framing.lead
    state, found = model.initial_state(2), []
    for vector in tf.split(tf.concat([values, tf.zeros((2, lead, FRAMES * BINS))], 1), 9 + lead, 1):
        log_probs, state = model.step(vector, state)
        found.append(log_probs)
    np.testing.assert_allclose(tf.concat(found[lead:], 1), whole, atol=2e-5)


FAMILIES = {
    "lstm_ctc": {"family": "lstm_ctc", "cells": 6},
    "delayed_lstm": {"family": "delayed_lstm", "layers": 1, "cells": 6, "delay_vectors": 2},
    "bfa": BFA,
    "mocha": MOCHA,
    "mocha, look-ahead": MOCHA | {"look_ahead": 3},
}


def model_of(family, **convolution):
    section = FAMILIES[family] | {"dropout": 0.0, "convolution_2d": SECTION | convolution}
    section = TypeAdapter(Recipe.model_fields["model"].annotation).validate_python(section)
    model = build_model(section, FRAMES * BINS, units=4, seed=2)
    random(model.convolution)
    return model


def computed(model, length):
    """Return how many vectors a model computes of an utterance: with its delay or look-ahead, in whole blocks."""
    return model.framing.vectors_for(model.framing.frames(length))


def outputs(model, seed=None):
    labels = tf.constant([[1, 2], [3, 0], [0, 1]]), tf.constant([2, 2, 2])
    return model.outputs(Inputs(vectors(3, 7), tf.constant(LENGTHS), *labels), seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_training_leaves_the_sums_of_the_vectors_that_are_computed(family):
    model = model_of(family)
    outputs(model, SEED)
    counts = [float(sums[-1]) for sums in model.batch_sums()]
    times = sum(LENGTHS) if family == "bfa" else sum(computed(model, length) for length in LENGTHS)
    assert counts == [times * feature_map.frames * feature_map.bins for feature_map in RECIPE.feature_maps(BINS)[1:]]
    before = model.named_weights()
    model.update_moments(model.batch_sums())
    changed = {name for name, value in model.named_weights().items() if (value != before[name]).any()}
    assert changed == {n for n in before if n.endswith(("_normal/mean", "_normal/variance", "_normal/steps"))}


@pytest.mark.parametrize("family", FAMILIES)
def test_without_normalisation_training_computes_what_recognition_does(family):
    model = model_of(family, batch_normalisation=False)

    def frames(seed):
        """Return frames, of a label-synchronous family encoded ones, and how many count."""
        if hasattr(model, "encode"):
            return model._encode(vectors(3, 7), tf.constant(LENGTHS), seed)
        found = outputs(model, seed)
        return found.frames, found.lengths

    (found, lengths), (expected, _) = frames(SEED), frames(None)
    for one, other, length in zip(found, expected, lengths, strict=True):
        np.testing.assert_allclose(one[:length], other[:length], atol=1e-5)


def test_a_weight_s_name_is_not_that_of_a_convolution_over_frequency():
    other = build_model(LstmCtcRecipe(cells=6, convolution=FREQUENCY_RECIPE), FRAMES * BINS, units=4).weight_shapes()
    names = {name for name in model_of("lstm_ctc").weight_shapes() if name.startswith("conv")}
    assert len(names) == 4 + 10 + 2
    assert not names & other.keys()


def test_half_precision_multiplies_normalised_values():
    recipe = RECIPE.model_copy(update={"layers": RECIPE.layers[:1]})
    layer = random(Convolution2d(FRAMES * BINS, recipe, seed=1))
    layer.convolutions[0].bias.assign(tf.fill((5,), 20.0))  # so that values have a mean far above their deviation
    values, lengths = vectors(3, 7), tf.fill((3,), 7)
    exact = layer(values, lengths)
    for part in (*layer.convolutions, layer.projection):
        part.dtype_policy = "mixed_bfloat16"
    found = layer(values, lengths)
    assert found.dtype == tf.float32
    assert 0 < np.linalg.norm(found - exact) / np.linalg.norm(exact) < 0.03


def test_moments_of_values_far_from_zero_keep_their_digits():
    layer, other = (BatchNormalisation(3, name) for name in ("normal", "other"))
    values = 300 + tf.random.stateless_normal((5, 2000, 3), seed=(1, 2))
    for one in (layer, other):
        one.mean.assign(tf.fill((3,), 300.5))
    expected = other(values, present=tf.ones((5, 2000, 1)))
    factor, offset = (
        np.asarray(one, np.float64) for one in layer.affine_of(*sums_about(values, layer.centre), 10_000.0)
    )
    np.testing.assert_allclose(layer.sums, other.sums, rtol=1e-4)
    np.testing.assert_allclose(values.numpy().astype(np.float64) * factor + offset, expected, atol=1e-3)


def test_no_layer_begins_with_the_random_numbers_of_another():
    model = build_model(LstmCtcRecipe(cells=6, convolution_2d=RECIPE), FRAMES * BINS, units=4, seed=0)
    kernels = [weight for weight in model.trainable_weights if weight.path.endswith(("kernel", "weight"))]
    correlations = np.corrcoef(np.stack([weight.numpy().reshape(-1)[:6] for weight in kernels])) - np.eye(len(kernels))
    assert len(kernels) == 6
    assert np.abs(correlations[:3]).max() < 0.99  # the convolution's, with each other and with those behind
