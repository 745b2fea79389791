import numpy as np
import pytest

from sonorant.models.family import Inputs, WrongWeights
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
