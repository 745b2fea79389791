from types import SimpleNamespace

import numpy as np
import pytest

from sonorant.models.computation import set_computation
from sonorant.models.deep_speech import DeepSpeech
from sonorant.models.family import Inputs
from sonorant.models.section import DeepSpeechRecipe
from sonorant.tensorflow import tf


def frames(model, features, lengths, dropout_seed=None):
    outputs = model.outputs(Inputs(tf.constant(features), tf.constant(lengths)), dropout_seed)
    return outputs.frames.numpy(), outputs.lengths.numpy()


def by_hand(model, features):
    """Hannun 2014, section 2, of one utterance [T, bins], in float64."""
    w = {name: np.float64(value) for name, value in model.named_weights().items()}
    recipe = model.recipe
    context = recipe.context_vectors

    def g(z):
        return np.minimum(np.maximum(z, 0), recipe.ceiling)

    normal = (features - w["normalisation/mean"]) / w["normalisation/deviation"]
    padded = np.pad(normal, ((context, context), (0, 0)))
    windows = [padded[t : t + 2 * context + 1].ravel() for t in range(0, len(features), recipe.stride)]
    kernel = w["hidden_1/kernel"].reshape(-1, recipe.cells)
    hidden = g(np.stack(windows) @ kernel + w["hidden_1/bias"])
    for layer in ("hidden_2", "hidden_3"):
        hidden = g(hidden @ w[f"{layer}/kernel"] + w[f"{layer}/bias"])
    inputs = hidden @ w["hidden_4/kernel"] + w["hidden_4/bias"]
    both = np.zeros_like(inputs)
    for direction, order in enumerate((range(len(inputs)), range(len(inputs) - 1, -1, -1))):
        state = np.zeros(recipe.cells)
        for t in order:
            state = g(inputs[t] + state @ w["recurrence/weight"][direction])
            both[t] += state
    logits = g(both @ w["hidden_5/kernel"] + w["hidden_5/bias"]) @ w["projection/kernel"] + w["projection/bias"]
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


@pytest.fixture(params=[(0, 1), (2, 1), (2, 2), (1, 3)], ids=lambda p: f"context {p[0]}, stride {p[1]}")
def model(request):
    context, stride = request.param
    recipe = DeepSpeechRecipe(
        family="deep_speech", cells=7, context_vectors=context, stride=stride, ceiling=2.0, dropout=0.3
    )
    model = DeepSpeech(recipe, bins=4, units=3, seed=2)
    model.set_normalisation([np.random.default_rng(0).normal(2, 3, (50, 4))], lambda moments: moments)
    return model


@pytest.fixture
def features():
    return np.random.default_rng(1).normal(2, 3, (3, 14, 4)).astype(np.float32)


@pytest.mark.parametrize("vectors", [1, 2, 13, 14])
def test_outputs_equal_the_paper_s_equations(model, features, vectors):
    found, lengths = frames(model, features[:1, :vectors], [vectors])
    expected = by_hand(model, features[0, :vectors])
    assert lengths == len(expected) == model.recipe.framing.frames(vectors)
    np.testing.assert_allclose(found[0], expected, atol=2e-5)


def test_a_training_on_a_cpu_has_the_same_outputs(model, features):
    before, _ = frames(model, features, [9, 14, 14])
    set_computation(model, devices=[SimpleNamespace(device_type="CPU")])
    assert model.recurrence.compiled
    in_training, _ = frames(model, features, [9, 14, 14])
    np.testing.assert_allclose(in_training, before, atol=2e-5)


def test_an_utterance_alone_equals_it_in_a_padded_batch(model, features):
    features[0, 9:] = 0
    together, lengths = frames(model, features, [9, 14, 14])
    alone, _ = frames(model, features[:1, :9], [9])
    np.testing.assert_allclose(together[0, : lengths[0]], alone[0], atol=2e-5)


def test_dropout_repeats_with_its_seed_and_its_rate_may_change(model, features):
    one, again, other = (frames(model, features, [14] * 3, tf.constant([7, s]))[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-3
    model.drop.rate.assign(0.0)
    np.testing.assert_allclose(
        frames(model, features, [14] * 3, tf.constant([7, 1]))[0], frames(model, features, [14] * 3)[0], atol=1e-6
    )


def test_the_gradient_equals_differences_of_the_loss(model, features):
    inputs = Inputs(tf.constant(features), tf.constant([14, 9, 3]))

    def loss():
        outputs = model.outputs(inputs)
        present = tf.sequence_mask(outputs.lengths, tf.shape(outputs.frames)[1], tf.float32)
        return -tf.reduce_sum(outputs.frames[..., 0] * present)

    variables = [v.value for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, variables)
    rng = np.random.default_rng(4)
    for variable, gradient in zip(variables, gradients, strict=True):
        direction = rng.normal(size=variable.shape).astype(np.float32)
        direction /= np.linalg.norm(direction)
        before, step = variable.numpy(), 5e-4  # a longer one crosses corners
        variable.assign(before + step * direction)
        above = float(loss())
        variable.assign(before - step * direction)
        below = float(loss())
        variable.assign(before)
        assert (above - below) / (2 * step) == pytest.approx(
            float(tf.reduce_sum(gradient * direction)), rel=0.05, abs=0.05
        )
