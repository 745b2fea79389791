import numpy as np
import pytest

from sonorant.models.input_normalisation import InputNormalisation
from sonorant.models.section import LstmCtcRecipe
from sonorant.tensorflow import tf

SPEECH = np.random.default_rng(0).normal(2, 3, (80, 5)).astype(np.float32)
LOUD = np.abs(SPEECH) / 10 + 4  # from its first vector on far above the floor of a running level


def normalisation(kind, level="absolute"):
    layer = InputNormalisation(5, LstmCtcRecipe(normalisation=kind, level=level, memory_vectors=10))
    layer.set_from([SPEECH], lambda moments: moments)
    return layer


def test_without_a_running_mean_it_is_mean_and_deviation_of_the_corpus():
    normal, state = normalisation("global")(tf.constant(SPEECH[np.newaxis]), [])
    assert state == []
    np.testing.assert_allclose(normal[0], (SPEECH - SPEECH.mean(0)) / SPEECH.std(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["global", "running"])
@pytest.mark.parametrize("level", ["absolute", "running"])
@pytest.mark.parametrize("cuts", [[1], [30, 31, 60]])
def test_chunks_give_what_the_whole_gives_whatever_follows_it(kind, level, cuts):
    layer = normalisation(kind, level)
    state, parts = layer.initial_state(1), []
    for chunk in np.split(SPEECH, cuts):
        normal, state = layer(tf.constant(chunk[np.newaxis]), state)
        parts.append(normal[0])
    padded = np.concatenate([SPEECH, np.full((7, 5), 99, np.float32)])
    whole = layer.whole(tf.constant(padded[np.newaxis]))[0, : len(SPEECH)]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-5)


def test_a_running_mean_takes_away_what_the_whole_utterance_has_in_common():
    layer = normalisation("running")
    shifted = tf.constant((SPEECH + 6)[np.newaxis])
    assert np.abs(np.mean(layer.whole(shifted)[0, 20:])) < 0.5 < np.abs(np.mean(layer.corpus(shifted)[0, 20:]))


@pytest.mark.parametrize("kind", ["global", "running"])
def test_with_a_running_level_a_softer_utterance_comes_out_as_it_was(kind):
    layer = InputNormalisation(5, LstmCtcRecipe(normalisation=kind, level="running", memory_vectors=10))
    layer.set_from([LOUD], lambda moments: moments)
    whole, softer = (layer.whole(tf.constant(gain * LOUD[np.newaxis])) for gain in (1, np.float32(0.8)))
    np.testing.assert_allclose(softer, whole, atol=1e-4)


def test_moments_are_those_of_features_that_the_running_level_has_divided():
    layer = InputNormalisation(5, LstmCtcRecipe(level="running"))
    layer.set_from([LOUD], lambda moments: moments)
    normal = layer.whole(tf.constant(LOUD[np.newaxis]))[0]
    np.testing.assert_allclose(np.mean(normal, axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(np.std(normal, axis=0), 1, rtol=1e-3)
