import itertools

import numpy as np
import pytest

from sonorant.models.monotonic_attention import (
    ExpectedAttention,
    MonotonicAttention,
    chunk_weights,
    log_head_distribution,
)
from sonorant.tensorflow import tf

B, K, T, SIZE, QUERY, INNER, LABELS = 3, 2, 9, 6, 5, 4, 4
LENGTHS = np.array([9, 4, 1])


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def sigmoid(energies):
    return 1 / (1 + np.exp(-energies))


def recursion(energies):
    """Raffel 2017, section 2.3, frame by frame in float64: alpha [labels, T] of one hypothesis."""
    before = np.eye(energies.shape[1])[0]
    alphas = []
    for p in sigmoid(np.asarray(energies, np.float64)):
        alpha, q = np.zeros_like(before), 0.0
        for t in range(len(p)):
            q = (q * (1 - p[t - 1]) if t else 0.0) + before[t]
            alpha[t] = p[t] * q
        alphas.append(alpha)
        before = alpha
    return np.array(alphas)


def parallel(energies, dtype):
    """The same by `log_head_distribution`."""
    before = tf.constant(np.where(np.arange(energies.shape[1]) == 0, 0.0, -1e30), dtype)
    alphas = []
    for row in energies:
        before = log_head_distribution(tf.constant(row, dtype), before)
        alphas.append(tf.exp(before))
    return np.array(alphas)


def test_the_recursion_is_the_distribution_of_heads_that_stop_at_random(rng):
    """By going through all paths of heads."""
    energies = rng.normal(0, 1.5, (3, 5))
    p, expected = sigmoid(energies), np.zeros((3, 5))
    for stops in itertools.combinations_with_replacement(range(5), 3):
        for labels in range(1, 4):
            if stops[labels:] == (4,) * (3 - labels):  # each path of the first labels once
                path = stops[:labels]
                starts = (0, *path)
                expected[labels - 1, path[-1]] += np.prod(
                    [p[n, t] * np.prod(1 - p[n, starts[n] : t]) for n, t in enumerate(path)]
                )
    np.testing.assert_allclose(recursion(energies), expected, atol=1e-12)


@pytest.mark.parametrize(("scale", "offset", "frames"), [(1, 0, 9), (3, -4, 60), (30, 5, 60), (8, -2, 400), (1, 0, 1)])
def test_the_parallel_form_is_the_recursion(rng, scale, offset, frames):
    energies = rng.normal(offset, scale, (LABELS, frames))
    expected = recursion(energies)
    np.testing.assert_allclose(parallel(energies, tf.float64), expected, atol=1e-11)
    np.testing.assert_allclose(parallel(energies, tf.float32), expected, atol=2e-3)


def test_its_gradient_is_that_of_the_recursion_and_finite_in_float32(rng):
    energies, weights = rng.normal(0, 2, (2, 7)), rng.normal(size=7)

    def value(energies):
        return float(recursion(energies)[-1] @ weights)

    def slope(energies, dtype):
        rows = tf.constant(energies, dtype)
        with tf.GradientTape() as tape:
            tape.watch(rows)
            before = tf.constant([0.0] + [-1e30] * (energies.shape[1] - 1), dtype)
            for row in tf.unstack(rows):
                before = log_head_distribution(row, before)
            total = tf.reduce_sum(tf.exp(before)[: len(weights)] * weights.astype(dtype.as_numpy_dtype))
        return tape.gradient(total, rows).numpy()

    found = slope(energies, tf.float64)
    for at in np.ndindex(energies.shape):
        step = np.zeros_like(energies)
        step[at] = 1e-6
        assert (value(energies + step) - value(energies - step)) / 2e-6 == pytest.approx(found[at], abs=1e-7)
    extreme = rng.choice([-80.0, 80.0, -1e30], (3, 200))
    assert np.isfinite(slope(extreme, tf.float32)).all()


@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_chunk_weights_are_those_of_the_definition(rng, chunk):
    alpha, energies = rng.dirichlet(np.ones(6), 3), rng.normal(0, 30, (3, 6))
    expected = np.zeros((3, 6))
    for row, k in np.ndindex(3, 6):
        frames = np.arange(max(0, k - chunk + 1), k + 1)
        u = np.exp(energies[row, frames] - energies[row, frames].max())
        expected[row, frames] += alpha[row, k] * u / u.sum()
    np.testing.assert_allclose(chunk_weights(tf.constant(alpha), tf.constant(energies), chunk), expected, atol=1e-12)


@pytest.fixture
def attention(rng):
    layer = MonotonicAttention(SIZE, QUERY, INNER, chunk=2, offset=-4.0, seed=1)
    for weight in layer.weights:
        if weight.shape:
            weight.assign(rng.normal(0, 2, weight.shape))
    layer.scale.assign(60.0)  # so that sigmoid and noise decide nothing
    layer.offset.assign(-10.0)
    return layer


def attended(attention, memory, queries):
    state = attention.initial_state(memory, K)
    results = []
    for query in queries:
        results.append(attention.attend(tf.constant(query, tf.float32), memory, state))
        state = results[-1].state
    return [np.array([getattr(r, name) for r in results]) for name in ("context", "weights")]


def test_first_weights_are_those_of_the_paper():
    layer = MonotonicAttention(SIZE, QUERY, 16, chunk=2, offset=-4.0, seed=1)
    assert (float(layer.scale.value), float(layer.offset.value)) == (0.25, -4.0)
    layer = MonotonicAttention(SIZE, QUERY, 16, chunk=2, offset=-2.0, seed=1, scale=3.0)
    assert (float(layer.scale.value), float(layer.offset.value)) == (3.0, -2.0)


def test_monotonic_energies_do_not_depend_on_the_length_of_their_vector(attention, rng):
    query, keys = (
        tf.constant(rng.normal(size=(K, QUERY)), tf.float32),
        tf.constant(rng.normal(size=(T, INNER)), tf.float32),
    )
    before = attention.energies(query, keys)
    v = np.asarray(attention.monotonic.energy.value, np.float64)[:, 0]
    w = np.asarray(attention.monotonic.query.value, np.float64)
    inner = np.tanh((query.numpy() @ w)[:, np.newaxis] + keys.numpy())
    np.testing.assert_allclose(before, 60 * inner @ (v / np.linalg.norm(v)) - 10, atol=1e-4)
    attention.monotonic.energy.assign(attention.monotonic.energy * 3)
    np.testing.assert_allclose(attention.energies(query, keys), before, atol=1e-4)


def test_hard_attention_is_the_first_frame_from_the_head_on_whose_energy_is_positive(attention, rng):
    encoded, queries = rng.normal(size=(B, T, SIZE)), rng.normal(size=(LABELS, B, K, QUERY))
    memory = attention.memory(tf.constant(encoded, tf.float32), tf.constant(LENGTHS))
    contexts, weights = attended(attention, memory, queries)
    stopped = 0
    for b, k in np.ndindex(B, K):
        head = 0
        for number in range(LABELS):
            query = tf.constant(queries[number, b, k : k + 1], tf.float32)
            energies = attention.energies(query, memory[1][b])[0].numpy()
            stops = [t for t in range(head, LENGTHS[b]) if energies[t] > 0]
            head = stops[0] if stops else T
            window = encoded[b, max(0, head - 1) : head + 1] if stops else encoded[b, :0]
            _, context = attention.look(query, tf.constant(window, tf.float32))
            np.testing.assert_allclose(contexts[number, b, k], context[0], atol=1e-4)
            assert weights[number, b, k].sum() == pytest.approx(float(bool(stops)))
            assert not weights[number, b, k, head + 1 :].any()
            stopped += bool(stops)
    assert LABELS < stopped < LABELS * B * K


def test_where_energies_leave_no_doubt_the_expectation_is_hard_attention(attention, rng):
    encoded, queries = rng.normal(size=(B, T, SIZE)), rng.normal(size=(LABELS, B, K, QUERY))
    memory = attention.memory(tf.constant(encoded, tf.float32), tf.constant(LENGTHS))
    attention.scale.assign(1e4)
    attention.offset.assign(-1e3)
    hard = attended(attention, memory, queries)
    expected = attended(ExpectedAttention(attention, tf.constant([1, 2])), memory, queries)
    np.testing.assert_allclose(hard[0], expected[0], atol=1e-4)
    heads = np.where(hard[1] > 0, np.arange(T), -1).max(-1)  # the last of the frames attended to
    np.testing.assert_allclose(expected[1], heads[..., np.newaxis] == np.arange(T), atol=1e-4)


def test_noise_is_normal_and_its_own_for_each_label_and_seed(attention, rng):
    memory = attention.memory(tf.zeros((1, 1, SIZE)), tf.constant([1]))
    attention.scale.assign(0.0)
    attention.offset.assign(0.0)

    def energies(seed):  # p of one frame, for each of two labels
        soft = ExpectedAttention(attention, tf.constant([7, seed]))
        state = soft.initial_state(memory, 2000)
        first = soft.attend(tf.zeros((1, 2000, QUERY)), memory, state)
        second = soft.attend(tf.zeros((1, 2000, QUERY)), memory, first.state)
        p = first.weights.numpy().ravel(), second.weights.numpy().ravel() / first.weights.numpy().ravel()
        return [np.log(x / (1 - x)) for x in p]

    one, again, other = energies(1), energies(1), energies(1000)
    np.testing.assert_array_equal(one, again)
    for noise in (*one, *other):
        assert abs(noise.mean()) < 0.1
        assert noise.std() == pytest.approx(1, abs=0.1)
    for a, b in itertools.combinations((*one, *other), 2):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.1


def test_look_says_of_every_query_whether_the_last_frame_stops_it(attention, rng):
    window = tf.constant(rng.normal(size=(2, SIZE)), tf.float32)
    query = tf.constant(rng.normal(size=(20, QUERY)), tf.float32)
    stops, _ = attention.look(query, window)
    energies = attention.energies(query, attention.monotonic.keys(window))[:, 1]
    np.testing.assert_array_equal(stops, energies > 0)
    assert 0 < stops.numpy().sum() < 20
    over, context = attention.look(query, window[:0])
    assert over.numpy().all()
    np.testing.assert_array_equal(context, np.zeros((20, SIZE)))
