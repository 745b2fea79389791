import numpy as np
import pytest

from sonorant.models.attention import FeedbackAttention
from sonorant.tensorflow import tf

B, K, T, SIZE, QUERY, INNER, LABELS = 3, 2, 9, 6, 5, 4, 7
LENGTHS = np.array([9, 4, 1])


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.fixture
def attention(rng):
    layer = FeedbackAttention(SIZE, QUERY, INNER, seed=1)
    for weight in layer.weights:
        weight.assign(rng.normal(0, 2, weight.shape))
    return layer


def plain(attention, encoded, queries):
    """Zeyer 2018, section 3, for one utterance and hypothesis, in float64: contexts and weights of all labels."""
    names = ("query", "key", "bias", "feedback", "energy", "fertility")
    w, v, b, u, e, f = (np.asarray(getattr(attention, name).value, np.float64) for name in names)
    feedback = np.zeros(len(encoded))
    contexts, weights = [], []
    for query in queries:
        energies = np.tanh(query @ w + encoded @ v + b + feedback[:, np.newaxis] * u) @ e[:, 0]
        alpha = np.exp(energies) / np.exp(energies).sum()
        feedback = feedback + alpha / (1 + np.exp(-(encoded @ f[:, 0]))) * 0.5
        contexts.append(alpha @ encoded)
        weights.append(alpha)
    return np.array(contexts), np.array(weights)


def attended(attention, encoded, queries, lengths):
    """Contexts [LABELS, B, K, SIZE] and weights [LABELS, B, K, T]."""
    memory = attention.memory(tf.constant(encoded, tf.float32), tf.constant(lengths))
    state = attention.initial_state(memory, K)
    results = []
    for query in queries:
        result = attention.attend(tf.constant(query, tf.float32), memory, state)
        state = result.state
        results.append(result)
    return np.array([r.context for r in results]), np.array([r.weights for r in results])


def test_attention_with_feedback_is_that_of_the_paper_and_padding_has_no_weight(attention, rng):
    encoded, queries = rng.normal(size=(B, T, SIZE)), rng.normal(size=(LABELS, B, K, QUERY))
    contexts, weights = attended(attention, encoded, queries, LENGTHS)
    for b, length in enumerate(LENGTHS):
        for k in range(K):
            expected_contexts, expected_weights = plain(attention, encoded[b, :length], queries[:, b, k])
            np.testing.assert_allclose(contexts[:, b, k], expected_contexts, atol=2e-5)
            np.testing.assert_allclose(weights[:, b, k, :length], expected_weights, atol=2e-5)
        assert not weights[:, b, :, length:].any()


def test_the_feedback_of_a_label_is_that_of_the_labels_before_it(attention, rng):
    encoded, queries = rng.normal(size=(1, T, SIZE)), rng.normal(size=(2, 1, K, QUERY))
    lengths = np.array([T])
    attention.query.assign(attention.query * 0.1)  # so that tanh is not saturated
    attention.key.assign(attention.key * 0.1)
    _, before = attended(attention, encoded, queries, lengths)
    attention.feedback.assign(np.zeros((1, INNER)))
    _, without = attended(attention, encoded, queries, lengths)
    np.testing.assert_allclose(before[0], without[0], atol=1e-6)
    assert np.abs(before[1] - without[1]).max() > 1e-2
