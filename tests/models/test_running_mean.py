import numpy as np
import pytest

from sonorant.models.lstm_ctc import LstmCtc
from sonorant.models.running_mean import RunningMean
from sonorant.models.section import LstmCtcRecipe
from sonorant.tensorflow import tf


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("known", [True, False], ids=["lengths are known", "lengths are not known"])
def test_it_follows_its_recurrence_in_whatever_pieces(rng, known):
    layer = RunningMean(4, memory_vectors=12)
    specs = [tf.TensorSpec([2, None, 4])] + [tf.TensorSpec([2, size]) for size in (4, 1, 1)]
    subtract = layer if known else tf.function(layer, input_signature=specs)
    prior = np.array([1.0, 0.5, 0.2, 0.8])
    layer.prior.assign(prior)
    normal = rng.normal(0.2, 1, (2, 33, 4)).astype(np.float32)
    normal[1, :8] -= 3  # softer than the lowest peak
    state, pieces = layer.initial_state(2), []
    for piece in np.split(normal, [1, 2, 13], axis=1):
        subtracted, *state = subtract(tf.constant(piece), *state)
        pieces.append(subtracted)
    for b in range(2):
        s, n, p = 3 * prior, 3.0, -0.8
        for t, z in enumerate(normal[b]):
            p = max(p - 0.01, z.mean())
            w = 1 / (1 + np.exp(-6 * (z.mean() - p + 0.8)))
            s, n = np.exp(-1 / 12) * s + w * z, np.exp(-1 / 12) * n + w
            np.testing.assert_allclose(np.concatenate(pieces, axis=1)[b, t], z - s / n, atol=1e-5)
        np.testing.assert_allclose(state[0][b], s, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(state[1][b], [n], rtol=1e-5)
        np.testing.assert_allclose(state[2][b], [p], rtol=1e-5)


def heard(speech, change):
    """What comes out for speech as the corpus has it, and for the same with `change` added to each vector."""
    model = LstmCtc(LstmCtcRecipe(cells=8, normalisation="running", memory_vectors=50), bins=6, units=4)
    model.set_normalisation([speech], lambda moments: moments)
    return (
        model.normalisation(tf.constant(x[None], tf.float32), model.normalisation.initial_state(1))
        for x in (speech, speech + change)
    )


@pytest.mark.parametrize("change", [np.linspace(0.5, 1.5, 6), np.full(6, -3.0)], ids=["another channel", "softer"])
def test_a_constant_change_is_taken_away(rng, change):
    loud = np.repeat(rng.choice([-2, 2], (40, 1)), 10, axis=0)  # words and pauses
    speech = rng.normal(0, 1, (400, 6)) + loud
    (clean, *_), (changed, *_) = heard(speech, change)
    spoken = (loud[:, 0] > 0) & (np.arange(400) > 60)
    before = np.abs(change).mean() / speech.std()
    assert np.abs(clean - changed)[0, spoken].mean() < 0.1 * before
