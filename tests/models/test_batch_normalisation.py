import numpy as np
import pytest

from sonorant.models.batch_normalisation import BatchNormalisation
from sonorant.tensorflow import keras, tf


@pytest.fixture
def rng():
    return np.random.default_rng(6)


@pytest.fixture(params=[False, True], ids=["graph", "compiled"])
def normalising(request):
    def layer(channels):
        made = BatchNormalisation(channels, "normal")
        made.compiled = request.param
        return made

    return layer


def padded(rng, lengths, channels=3):
    values = rng.normal(4, 2, (len(lengths), max(lengths), channels)).astype(np.float32)
    present = np.arange(max(lengths)) < np.array(lengths)[:, None]
    return tf.constant(values), tf.constant(present[..., None], tf.float32)


def test_it_equals_keras_on_the_frames_that_are_there(normalising, rng):
    values, present = padded(rng, [5, 2, 4])
    layer = normalising(3)
    layer.scale.assign([2.0, 3.0, 4.0])
    layer.offset.assign([1.0, 0.0, -1.0])
    reference = keras.layers.BatchNormalization(epsilon=1e-3)
    reference.build((None, 3))
    reference.gamma.assign(layer.scale)
    reference.beta.assign(layer.offset)
    frames = tf.boolean_mask(values, present[..., 0] > 0)
    expected = reference(frames, training=True)
    found = tf.boolean_mask(layer(values, present=present), present[..., 0] > 0)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_gradients_are_those_of_keras_on_the_frames_that_are_there_and_0_in_padding(normalising, rng):
    values, present = padded(rng, [5, 2, 4])
    values = tf.where(present > 0, values, 7.0)
    layer, reference = normalising(3), keras.layers.BatchNormalization(epsilon=1e-3)
    reference.build((None, 3))
    weights = tf.constant(rng.normal(size=values.shape), tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        own = tf.reduce_sum(weights * present * layer(values, present=present))
        frames = [tf.boolean_mask(one, present[..., 0] > 0) for one in (values, weights)]
        theirs = tf.reduce_sum(frames[1] * reference(frames[0], training=True))
    pairs = ((values, values), (layer.scale.value, reference.gamma.value), (layer.offset.value, reference.beta.value))
    for one, other in pairs:
        np.testing.assert_allclose(tape.gradient(own, one), tape.gradient(theirs, other), atol=1e-5)
    assert not tf.boolean_mask(tape.gradient(own, values), present[..., 0] == 0).numpy().any()


def test_padding_changes_neither_values_nor_gradients(normalising, rng):
    values, present = padded(rng, [4, 2])
    gradients = []
    for filler in (0.0, 1000.0):
        layer = normalising(3)
        given = tf.where(present > 0, values, filler)
        with tf.GradientTape() as tape:
            tape.watch(given)
            loss = tf.reduce_sum(present * layer(given, present=present) ** 3)
        gradients.append(tape.gradient(loss, [given, layer.scale.value]))
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_moving_moments_are_those_of_all_ranks_frames(normalising, rng):
    layer = normalising(3)
    parts = [padded(rng, lengths) for lengths in ([5, 3], [7])]
    sums = []
    for values, present in parts:
        layer(values, present=present)
        sums.append(layer.sums)
    layer.update(tf.add_n(sums))
    frames = np.concatenate([tf.boolean_mask(v, p[..., 0] > 0) for v, p in parts])
    np.testing.assert_allclose(layer.mean, frames.mean(0), rtol=1e-5)
    np.testing.assert_allclose(layer.variance, frames.var(0), rtol=1e-4)
    normal = layer(tf.constant(frames))
    np.testing.assert_allclose(tf.reduce_mean(normal, 0), np.zeros(3), atol=1e-5)
    layer.update(tf.zeros(7))  # a step without a frame
    np.testing.assert_allclose(layer.mean, frames.mean(0), rtol=1e-5)


def test_moving_moments_forget_the_early_steps(normalising):
    layer = normalising(1)
    for value in [0.0] * 100 + [10.0] * 400:
        layer(tf.fill((1, 4, 1), value), present=tf.ones((1, 4, 1)))
        layer.update(layer.sums)
    assert float(layer.mean[0]) == pytest.approx(10 * (1 - 0.99**400), rel=1e-3)
