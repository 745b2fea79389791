from types import SimpleNamespace

import numpy as np
import pytest
from keras.src.backend.tensorflow.rnn import _standardize_cudnn_weights
from rigs.cudnn import documented_cudnn

from sonorant.models.bidirectional import BidirectionalEncoder
from sonorant.models.computation import set_computation
from sonorant.models.cudnn_lstm import cudnn_parameters
from sonorant.models.lstm import Lstm
from sonorant.models.registry import build_model
from sonorant.models.section import BfaRecipe, ConvLstmCtcRecipe
from sonorant.tensorflow import keras, tf

CPU, GPU = SimpleNamespace(device_type="CPU"), SimpleNamespace(device_type="GPU")


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.fixture
def cudnn_on_cpu(monkeypatch):
    monkeypatch.setattr(tf.raw_ops, "CudnnRNNV3", documented_cudnn)


def layer_with_biases(rng, inputs=5, cells=4):
    layer = Lstm(inputs, cells, seed=1, name="lstm")
    layer.bias.assign(rng.normal(size=4 * cells))
    return layer


def draw(rng, *shape):
    return tf.constant(rng.normal(size=shape), tf.float32)


def outcomes(run, given):
    """Return what a layer gives, and the gradients of `given`, of which each value has one of its own."""
    with tf.GradientTape() as tape:
        tape.watch(given)
        outputs, cell, hidden = run()
        ramp = tf.reshape(tf.range(1.0, outputs.shape[0] + 1), (-1, 1, 1))
        loss = tf.reduce_sum(outputs**2 * ramp) + tf.reduce_sum(cell**3) + tf.reduce_sum(hidden**4)
    return [outputs, cell, hidden, *tape.gradient(loss, given)]


def test_parameters_are_those_that_keras_gives_cudnn_for_its_own_order_of_gates(rng):
    layer = layer_with_biases(rng)
    i, g, f, o = np.split(np.array(layer.weight), 4, axis=1)
    ordered = [gate[part] for part in (slice(0, 5), slice(5, 9)) for gate in (i, f, g, o)]
    b_i, b_g, b_f, b_o = np.split(np.array(layer.bias), 4)
    biases = [np.zeros(4, np.float32)] * 4 + [b_i, b_f, b_g, b_o]
    expected = _standardize_cudnn_weights(ordered, biases, tf.constant([-1]), transpose_weights=True)
    np.testing.assert_array_equal(cudnn_parameters(layer.weight.value, layer.bias.value), expected)


@pytest.mark.parametrize("steps", [1, 7])
def test_both_kernels_give_the_same_from_the_same_weights_and_states(rng, cudnn_on_cpu, steps):
    layer = layer_with_biases(rng)
    given = [draw(rng, steps, 3, 5), draw(rng, 3, 4), draw(rng, 3, 4), layer.weight.value, layer.bias.value]
    expected = outcomes(lambda: layer(*given[:3]), given)
    layer.kernel = "cudnn"
    for found, wanted in zip(outcomes(lambda: layer(*given[:3]), given), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=3e-5, rtol=1e-5)


def test_keras_lstm_with_the_gates_in_its_order_gives_the_same_forward_and_backward(rng):
    layer, order = layer_with_biases(rng), [0, 2, 1, 3]
    peer = keras.layers.LSTM(4, return_sequences=True, return_state=True, use_cudnn=False)
    peer.build((None, None, 5))
    columns = np.arange(16).reshape(4, 4)[order].ravel()
    weight, bias = np.array(layer.weight)[:, columns], np.array(layer.bias)[columns]
    peer.set_weights([weight[:5], weight[5:], bias])
    states = [draw(rng, 7, 3, 5), draw(rng, 3, 4), draw(rng, 3, 4)]

    def of_peer():
        outputs, hidden, cell = peer(tf.transpose(states[0], (1, 0, 2)), initial_state=[states[2], states[1]])
        return tf.transpose(outputs, (1, 0, 2)), cell, hidden

    found = outcomes(lambda: layer(*states), [*states, layer.weight.value, layer.bias.value])
    *same, kernel, recurrent, bias = outcomes(of_peer, [*states, *(v.value for v in peer.trainable_variables)])
    expected = [*same, np.concatenate([kernel, recurrent])[:, columns], np.array(bias)[columns]]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=3e-5, rtol=1e-5)


def test_cutting_a_stream_into_chunks_changes_nothing(rng, cudnn_on_cpu):
    layer = layer_with_biases(rng)
    layer.kernel = "cudnn"
    inputs, start = draw(rng, 7, 2, 5), tf.zeros((2, 4))
    whole, *_ = layer(inputs, start, start)
    first, cell, hidden = layer(inputs[:3], start, start)
    rest, *_ = layer(inputs[3:], cell, hidden)
    np.testing.assert_allclose(tf.concat([first, rest], 0), whole, atol=1e-6)


def test_utterances_of_unlike_lengths_are_encoded_alike_in_both_directions(rng, cudnn_on_cpu):
    encoder = BidirectionalEncoder(3, layers=2, cells=4, pooling=(2,), seed=1)
    features, lengths = draw(rng, 3, 7, 3), tf.constant([7, 4, 1])
    expected, shorter = encoder.encode(features, lengths, lambda hidden, layer: hidden)
    for layer in (*encoder.forward, *encoder.backward):
        layer.kernel = "cudnn"
    found, _ = encoder.encode(features, lengths, lambda hidden, layer: hidden)
    for one, other, length in zip(found, expected, shorter, strict=True):
        np.testing.assert_allclose(one[:length], other[:length], atol=1e-6)


def test_its_graph_has_tensorflows_ops_forward_and_backward():
    layer = Lstm(5, 4, seed=1, name="lstm")
    layer.kernel = "cudnn"

    @tf.function
    def step(inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs, *_ = layer(inputs, tf.zeros((3, 4)), tf.zeros((3, 4)))
        return outputs, tape.gradient(outputs, [inputs, layer.weight.value, layer.bias.value])

    graph = step.get_concrete_function(tf.TensorSpec([None, 3, 5])).graph
    assert {"CudnnRNNV3", "CudnnRNNBackpropV3"} <= {op.type for op in graph.get_operations()}
    outputs, gradients = graph.structured_outputs
    assert outputs.shape.as_list() == [None, 3, 4]
    assert [g.shape.as_list() for g in gradients[1:]] == [[9, 16], [16]]


@pytest.mark.parametrize(("devices", "kernel"), [([CPU], "compiled"), ([CPU, GPU], "cudnn")])
def test_a_model_has_the_kernels_of_its_devices(devices, kernel):
    model = build_model(BfaRecipe(family="bfa", layers=2, cells=4, pooling=(2,)), bins=3, units=4)
    set_computation(model, devices=devices)
    assert {layer.kernel for layer in (*model.encoder.forward, *model.encoder.backward)} == {kernel}
    assert model.decoder.compiled == (kernel == "compiled")


def test_peepholes_keep_the_kernel_that_has_them():
    model = build_model(ConvLstmCtcRecipe(family="conv_lstm_ctc", layers=2, cells=4, filters=4), bins=3, units=4)
    set_computation(model, devices=[GPU])
    assert {layer.kernel for layer in model.encoder} == {"graph"}
