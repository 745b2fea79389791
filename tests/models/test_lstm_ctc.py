import numpy as np
import pytest

from sonorant.models import graph_lstm
from sonorant.models.family import Inputs, WrongWeights
from sonorant.models.lstm import Lstm
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.models.normalisation import FeatureMoments
from sonorant.models.section import LstmCtcRecipe
from sonorant.tensorflow import tf


def frames(model, features, lengths, dropout_seed=None):
    return model.outputs(Inputs(tf.constant(features), lengths), dropout_seed).frames.numpy()


@pytest.fixture(params=["global", "running"])
def model(request):
    recipe = LstmCtcRecipe(layers=2, cells=8, dropout=0.3, normalisation=request.param, memory_vectors=10)
    model = LstmCtc(recipe, bins=6, units=4, seed=3)
    model.set_normalisation([np.random.default_rng(0).normal(2, 3, (50, 6))], lambda moments: moments)
    return model


@pytest.fixture
def features(rng):
    return rng.normal(2, 3, (3, 20, 6)).astype(np.float32)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def plain_lstm(inputs, cell, hidden, weight, bias, peepholes=(0.0, 0.0, 0.0)):
    """Gers 2000, with peepholes Gers 2002, written down step by step; gates in the order i, g, f, o."""
    outputs = []
    p_i, p_f, p_o = peepholes
    for vectors in inputs:
        i, g, f, o = tf.split(tf.concat([vectors, hidden], 1) @ weight + bias, 4, axis=1)
        cell = tf.sigmoid(f + p_f * cell) * cell + tf.sigmoid(i + p_i * cell) * tf.tanh(g)
        hidden = tf.sigmoid(o + p_o * cell) * tf.tanh(cell)
        outputs.append(hidden)
    return tf.stack(outputs), cell, hidden


@pytest.mark.parametrize("kernel", ["graph", "compiled"])
@pytest.mark.parametrize(
    ("peepholes", "gpu"), [(False, False), (True, False), (True, True)], ids=["plain", "peepholes", "on a GPU"]
)
@pytest.mark.parametrize("steps", [1, 9])
def test_fused_layer_and_its_gradient_equal_the_textbook_recurrence(rng, monkeypatch, steps, peepholes, gpu, kernel):
    monkeypatch.setattr(graph_lstm, "has_gpu", lambda: gpu)
    layer = Lstm(5, 4, seed=1, name="lstm", peepholes=peepholes)
    layer.kernel = kernel
    layer.bias.assign(rng.normal(size=16))
    inputs = tf.constant(rng.normal(size=(steps, 3, 5)), tf.float32)
    cell, hidden = (tf.constant(rng.normal(size=(3, 4)), tf.float32) for _ in range(2))
    ramp = tf.reshape(tf.range(1.0, steps + 1), (steps, 1, 1))
    given = [inputs, cell, hidden, layer.weight.value, layer.bias.value]
    if peepholes:
        layer.peepholes.assign(rng.normal(size=(3, 4)))
        given.append(layer.peepholes.value)
    exact = [tf.cast(one, tf.float64) for one in given]
    outcomes = []
    for run, sources in ((lambda: layer(*given[:3]), given), (lambda: plain_lstm(*exact), exact)):
        with tf.GradientTape() as tape:
            tape.watch(sources)
            outputs, last_cell, last_hidden = run()
            weighed = outputs**2 * tf.cast(ramp, outputs.dtype)
            loss = tf.reduce_sum(weighed) + tf.reduce_sum(last_cell**3) + tf.reduce_sum(last_hidden**4)
        outcomes.append([outputs, last_cell, last_hidden, *tape.gradient(loss, sources)])
    for fused, plain in zip(*outcomes, strict=True):
        np.testing.assert_allclose(fused, plain, atol=3e-5, rtol=1e-5)


def test_outputs_are_log_probabilities_of_units_and_blank(model, features):
    log_probs = frames(model, features, np.array([20, 20, 20]))
    assert log_probs.shape == (3, 20, 5)
    np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, atol=1e-5)


def test_padding_changes_nothing(model, features):
    alone = frames(model, features[:1, :13], np.array([13]))
    padded = np.concatenate([features, np.zeros((3, 7, 6), np.float32)], 1)
    padded[0, 13:] = 0
    together = frames(model, padded, np.array([13, 20, 20]))
    np.testing.assert_allclose(together[:1, :13], alone, atol=1e-6)


@pytest.mark.parametrize("chunk", [1, 3, 20])
def test_stepping_through_chunks_equals_the_whole(model, features, chunk):
    whole = frames(model, features, np.array([20, 20, 20]))
    state, parts = model.initial_state(3), []
    for first in range(0, 20, chunk):
        log_probs, state = model.step(features[:, first : first + chunk], state)
        parts.append(log_probs)
    np.testing.assert_allclose(tf.concat(parts, 1), whole, atol=1e-5)


def test_moments_of_parts_add_up_to_mean_and_deviation(rng):
    parts = [rng.normal(4, 2, (n, 3)) for n in (10, 25)]
    moments = FeatureMoments.of(parts, 3)
    np.testing.assert_allclose(moments.mean, np.concatenate(parts).mean(0))
    np.testing.assert_allclose(moments.deviation, np.concatenate(parts).std(0))


@pytest.mark.parametrize("over", ["frame", "utterance"])
def test_dropout_repeats_with_its_seed_and_differs_with_another(features, over):
    model = LstmCtc(LstmCtcRecipe(layers=1, cells=8, dropout=0.5, dropout_over=over), bins=6, units=4)
    lengths = np.array([20, 20, 20])
    one, again, other = (frames(model, features, lengths, tf.constant([7, s])) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-3


def test_weights_pass_from_model_to_model(model, features):
    other = LstmCtc(model.recipe, bins=6, units=4, seed=99)
    other.assign(model.named_weights())
    lengths = np.array([20, 20, 20])
    np.testing.assert_array_equal(frames(other, features, lengths), frames(model, features, lengths))


def test_weights_of_another_shape_are_refused_by_name(model):
    other = LstmCtc(model.recipe, bins=6, units=7)
    with pytest.raises(WrongWeights, match="projection/kernel"):
        other.assign(model.named_weights())


def test_a_saved_model_streams_like_the_model(model, features, tmp_path):
    class Stream(tf.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        @tf.function(
            input_signature=[tf.TensorSpec([None, None, 6])]
            + [tf.TensorSpec([None, *s.shape[1:]]) for s in model.initial_state(1)],
            autograph=False,
        )
        def stream(self, vectors, *state):
            log_probs, state = self.model.step(vectors, list(state))
            return {"log_probs": log_probs} | {f"state_{i}": s for i, s in enumerate(state)}

    module = Stream()
    tf.saved_model.save(module, tmp_path, signatures={"stream": module.stream})
    loaded = tf.saved_model.load(tmp_path)
    outputs = loaded.stream(tf.constant(features), *model.initial_state(3))
    np.testing.assert_allclose(outputs["log_probs"], frames(model, features, np.array([20] * 3)), atol=1e-5)
