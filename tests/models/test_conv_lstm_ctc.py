from types import SimpleNamespace

import numpy as np
import pytest

from sonorant.models.computation import set_computation
from sonorant.models.conv_lstm_ctc import ConvLstmCtc
from sonorant.models.family import Inputs
from sonorant.models.section import ConvLstmCtcRecipe
from sonorant.tensorflow import tf

VECTORS = 23


def frames(model, features, lengths, dropout_seed=None):
    outputs = model.outputs(Inputs(tf.constant(features), tf.constant(lengths)), dropout_seed)
    return outputs.frames.numpy(), outputs.lengths.numpy()


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def by_hand(model, features):
    """The thesis' chain of one utterance [T, bins], in float64; LSTM with peepholes as in Gers 2002."""
    w = {name: np.float64(value) for name, value in model.named_weights().items()}
    recipe = model.recipe

    def normal(name, x):
        if not recipe.batch_normalisation:
            return x
        mean, variance, scale, offset = (w[f"{name}/{part}"] for part in ("mean", "variance", "scale", "offset"))
        return (x - mean) / np.sqrt(variance + 1e-3) * scale + offset

    x = normal("inputs_normal", (features - w["normalisation/mean"]) / w["normalisation/deviation"])
    starts = range(0, len(x) - recipe.width_vectors + 1, recipe.stride)
    windows = np.stack([x[t : t + recipe.width_vectors].ravel() for t in starts])
    x = windows @ w["convolution/kernel"].reshape(-1, recipe.filters) + w["convolution/bias"]
    x = normal("convolution_normal", np.maximum(x, 0))
    for layer in range(recipe.layers):
        name = f"lstm_{layer}"
        p_i, p_f, p_o = w[f"{name}/peepholes"] if recipe.peepholes else np.zeros((3, recipe.cells))
        cell = hidden = np.zeros(recipe.cells)
        outputs = []
        for vector in x:
            i, g, f, o = np.split(np.concatenate([vector, hidden]) @ w[f"{name}/weight"] + w[f"{name}/bias"], 4)
            cell = sigmoid(f + p_f * cell) * cell + sigmoid(i + p_i * cell) * np.tanh(g)
            hidden = sigmoid(o + p_o * cell) * np.tanh(cell)
            outputs.append(hidden)
        x = normal(f"{name}_normal", np.stack(outputs))
    logits = x @ w["projection/kernel"] + w["projection/bias"]
    logits = {"linear": logits, "relu": np.maximum(logits, 0), "relu6": np.clip(logits, 0, 6)}[recipe.logits]
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


@pytest.fixture(
    params=[(8, 2, True, "relu"), (5, 3, True, "linear"), (1, 1, False, "relu6"), (2, 4, True, "relu")],
    ids=lambda p: f"width {p[0]}, stride {p[1]}",
)
def model(request):
    width, stride, full, logits = request.param
    recipe = ConvLstmCtcRecipe(
        **{"family": "conv_lstm_ctc", "width_vectors": width, "stride": stride, "filters": 5, "layers": 2, "cells": 6},
        **{"peepholes": full, "batch_normalisation": full, "logits": logits, "dropout": 0.3},
    )
    model = ConvLstmCtc(recipe, bins=4, units=3, seed=2)
    rng = np.random.default_rng(0)
    model.set_normalisation([rng.normal(2, 3, (50, 4))], lambda moments: moments)
    model.assign({n: w + np.float32(0.3) * rng.random(w.shape, np.float32) for n, w in model.named_weights().items()})
    model.projection.kernel.assign(3 * model.projection.kernel)
    return model


@pytest.fixture
def features():
    return np.random.default_rng(1).normal(2, 3, (3, VECTORS, 4)).astype(np.float32)


@pytest.mark.parametrize("vectors", [8, 9, VECTORS])
def test_outputs_equal_the_chain_by_hand(model, features, vectors):
    found, lengths = frames(model, features[:1, :vectors], [vectors])
    expected = by_hand(model, features[0, :vectors])
    assert lengths == len(expected) == model.framing.frames(vectors)
    np.testing.assert_allclose(found[0], expected, atol=3e-5)


def test_an_utterance_alone_equals_it_in_a_padded_batch(model, features):
    features[0, 11:] = 0
    together, lengths = frames(model, features, [11, VECTORS, VECTORS])
    alone, _ = frames(model, features[:1, :11], [11])
    np.testing.assert_allclose(together[0, : lengths[0]], alone[0, : lengths[0]], atol=2e-5)


def test_stepping_through_blocks_equals_the_whole(model, features):
    framing = model.framing
    vectors = np.concatenate([features, np.tile(model.padding, (3, framing.tail, 1))], 1)
    state, parts = model.initial_state(3), []
    for first in range(0, vectors.shape[1] - framing.block + 1, framing.block):
        log_probs, state = model.step(tf.constant(vectors[:, first : first + framing.block]), state)
        parts.append(log_probs)
    whole, lengths = frames(model, features, [VECTORS] * 3)
    np.testing.assert_allclose(tf.concat(parts[framing.lead :], 1), whole[:, : lengths[0]], atol=2e-5)


def test_an_utterance_shorter_than_a_window_has_no_frame(model, features):
    if model.recipe.width_vectors > 1:
        found, lengths = frames(model, features[:, :1], [1] * 3)
        assert (lengths.tolist(), found.shape[1]) == ([0] * 3, 1)


def test_a_training_on_a_cpu_has_the_same_outputs_sums_and_gradients(model, features):
    inputs, seed = Inputs(tf.constant(features), tf.constant([VECTORS, 9, 12])), tf.constant([1, 2])

    def outcomes():
        with tf.GradientTape() as tape:
            outputs = model.outputs(inputs, seed)
            there = tf.sequence_mask(outputs.lengths, tf.shape(outputs.frames)[1], tf.float32)[..., tf.newaxis]
            loss = tf.reduce_sum(there * outputs.frames[..., :1])
        weights = [weight.value for weight in model.trainable_variables]
        return [there * outputs.frames, *model.batch_sums(), *tape.gradient(loss, weights)]

    before = outcomes()
    set_computation(model, devices=[SimpleNamespace(device_type="CPU")])
    assert all(layer.compiled for layer in model.batch_normalisation)
    for one, other in zip(before, outcomes(), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=2e-5)


def test_training_leaves_the_sums_of_every_normalised_layer(model, features):
    frames(model, features, [VECTORS, 9, 12], tf.constant([1, 2]))
    counts = [float(sums[-1]) for sums in model.batch_sums()]
    encoded = sum(model.framing.frames(n) for n in (VECTORS, 9, 12))
    assert counts == ([VECTORS + 9 + 12] + [encoded] * 3 if model.recipe.batch_normalisation else [])
    before = model.named_weights()
    model.update_moments(model.batch_sums())
    changed = {name for name, value in model.named_weights().items() if (value != before[name]).any()}
    assert changed == {n for n in before if n.endswith(("_normal/mean", "_normal/variance", "_normal/steps"))}
