import numpy as np
import pytest

from sonorant.models.latency_controlled import LatencyControlledEncoder
from sonorant.tensorflow import tf


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def undropped(hidden, layer):
    return hidden


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(layer, inputs):
    """Outputs [T, cells] for inputs [T, n], of a layer from its start (Gers 2000), by numpy in float64."""
    weight, bias = np.float64(layer.weight), np.float64(layer.bias)
    cell, hidden, outputs = np.zeros(layer.cells), np.zeros(layer.cells), []
    for vector in inputs:
        i, g, f, o = np.split(np.concatenate([vector, hidden]) @ weight + bias, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        outputs.append(hidden)
    return np.array(outputs)


def by_definition(encoder, pooling, chunk, vectors):
    """The frames of one utterance [T, n], chunk by chunk and vector by vector."""
    hidden = np.float64(vectors)
    for i, pool in enumerate(pooling):
        size = chunk * int(np.prod(pooling[i:]))
        forth = lstm(encoder.forward[i], hidden)
        outputs = []
        for begin in range(0, len(hidden) - size, size):
            window = hidden[begin : begin + 2 * size]
            back = lstm(encoder.backward[i], window[::-1])[::-1][:size]
            outputs.append(np.concatenate([forth[begin : begin + size], back], 1))
        hidden = np.concatenate(outputs)
        hidden = hidden.reshape(-1, pool, hidden.shape[1]).max(1)
    return hidden


@pytest.mark.parametrize(("pooling", "chunk"), [((1,), 3), ((2, 1), 2), ((3, 2, 1), 1)])
def test_frames_are_those_of_the_definition(rng, pooling, chunk):
    encoder = LatencyControlledEncoder(3, len(pooling), 4, [p for p in pooling if p > 1], chunk, seed=1)
    step = chunk * int(np.prod(pooling))
    features = rng.normal(size=(2, step * (len(pooling) + 3), 3)).astype(np.float32)
    encoded = encoder.encode(tf.constant(features), undropped)
    assert encoded.shape == (2, 3 * chunk, 8)
    for row, vectors in zip(encoded, features, strict=True):
        np.testing.assert_allclose(row, by_definition(encoder, pooling, chunk, vectors), atol=1e-5)


def test_step_by_step_frames_are_as_many_chunks_later_as_there_are_layers(rng):
    encoder = LatencyControlledEncoder(3, 2, 4, [2], 3, seed=1)
    features = rng.normal(size=(2, 6 * 7, 3)).astype(np.float32)
    whole = encoder.encode(tf.constant(features), undropped)
    state, frames = encoder.initial_state(2), []
    assert len(state) == encoder.states
    for chunk in np.split(features, 7, axis=1):
        encoded, state = encoder.step(tf.constant(chunk), state)
        frames.append(encoded)
    assert [tuple(one.shape) for one in frames] == [(2, 3, 8)] * 7
    np.testing.assert_allclose(tf.concat(frames[2:], 1), whole, atol=1e-6)


def test_a_frame_hears_all_that_came_and_a_chunk_for_each_layer_beyond_its_own(rng):
    encoder = LatencyControlledEncoder(3, 2, 4, [2], 2, seed=1)
    features = rng.normal(size=(1, 4 * 8, 3)).astype(np.float32)
    whole = encoder.encode(tf.constant(features), undropped).numpy()
    for changed in (0, 13, 31):
        other = features.copy()
        other[0, changed] += 1
        differs = np.abs(encoder.encode(tf.constant(other), undropped) - whole).max(2)[0] > 1e-7
        first = 2 * max(0, changed // 4 - 2)  # of the chunk two before
        np.testing.assert_array_equal(differs, np.arange(len(differs)) >= first)


def test_dropout_is_of_each_layer_s_outputs(rng):
    encoder = LatencyControlledEncoder(3, 2, 4, [2], 2, seed=1)
    features = tf.constant(rng.normal(size=(1, 16, 3)).astype(np.float32))
    dropped = []

    def drop(hidden, layer):
        dropped.append((layer, tuple(hidden.shape)))
        return hidden * 0

    assert not encoder.encode(features, drop).numpy().any()
    assert dropped == [(0, (6, 1, 8)), (1, (4, 1, 8))]


def test_the_kernel_of_a_training_gives_the_same_frames_and_gradients(rng):
    encoder = LatencyControlledEncoder(3, 2, 4, [2], 2, seed=1)
    features = tf.constant(rng.normal(size=(2, 20, 3)).astype(np.float32))
    weights = [weight.value for weight in encoder.trainable_variables]

    def found():
        with tf.GradientTape() as tape:
            encoded = encoder.encode(features, undropped)
            value = tf.reduce_sum(encoded**2)
        return encoded, *tape.gradient(value, weights)

    by_graph = found()
    for layer in (*encoder.forward, *encoder.backward):
        layer.kernel = "compiled"
    for one, other in zip(found(), by_graph, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_in_a_training_inputs_are_multiplied_once_for_each_direction():
    encoder = LatencyControlledEncoder(3, 2, 4, [2], 2, seed=1)
    for layer in (*encoder.forward, *encoder.backward):
        layer.kernel = "compiled"
    encode = tf.function(lambda features: encoder.encode(features, undropped))
    graph = encode.get_concrete_function(tf.TensorSpec((None, None, 3)))
    assert [one.type for one in graph.graph.get_operations()].count("MatMul") == 2 * 2
