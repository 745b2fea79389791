import numpy as np
import pytest
from pydantic import TypeAdapter
from rigs import tiny_bfa, tiny_mocha
from rigs.cudnn import documented_cudnn

from sonorant.models.computation import set_computation
from sonorant.models.family import Inputs
from sonorant.models.half_precision import Conv1D, Dense, product
from sonorant.models.lstm import Lstm
from sonorant.models.registry import FAMILIES, build_model
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import tf

CONVOLUTION = {"frames": 2, "filters": 4, "width_bins": 2, "pool_bins": 1, "pooled_width_bins": 1, "size": 5}
SECTIONS = {
    "bfa": tiny_bfa.SECTION | {"ctc": True},
    "conv_lstm_ctc": {"family": "conv_lstm_ctc", "layers": 1, "cells": 8, "filters": 8, "width_vectors": 3},
    "deep_speech": {"family": "deep_speech", "cells": 8, "context_vectors": 1},
    "delayed_lstm": {"family": "delayed_lstm", "layers": 1, "cells": 8, "delay_vectors": 2, "convolution": CONVOLUTION},
    "lstm_ctc": {"family": "lstm_ctc", "layers": 2, "cells": 8},
    "lstm_lm": {"family": "lstm_lm", "layers": 1, "cells": 8, "embedding": 5},
    "mocha": tiny_mocha.SECTION | {"ctc": True},
    "transformer_lm": {"family": "transformer_lm", "layers": 1, "size": 8, "heads": 2, "feed_forward": 8},
}


# Of values: a processor without instructions for bfloat16 rounds each partial sum, by at most 2^-8 of it.
ROUNDED_SUMS = 2**-7


@pytest.fixture
def rng():
    return np.random.default_rng(9)


def rounded(values, dtype="bfloat16"):
    return tf.cast(tf.cast(values, dtype), tf.float32)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", [Dense, Conv1D])
def test_products_are_of_rounded_operands_and_come_out_as_float32(rng, kind, dtype):
    layer = Dense(3) if kind is Dense else Conv1D(3, 2)
    layer.build((None, None, 5))
    inputs = tf.constant(rng.normal(size=(2, 6, 5)), tf.float32)
    exact = layer(inputs)
    layer.dtype_policy = f"mixed_{dtype}"
    found = layer(inputs)
    assert (found.dtype, layer.kernel.dtype) == (tf.float32, "float32")
    kernel = layer.kernel.value
    layer.dtype_policy = "float32"
    layer.kernel.assign(rounded(kernel, dtype))
    unit = ROUNDED_SUMS if dtype == "bfloat16" else 0.0
    np.testing.assert_allclose(
        found, layer(rounded(inputs, dtype)), rtol=unit, atol=2e-2 if dtype == "bfloat16" else 2e-3
    )
    assert np.abs(found - exact).max() > 0


def test_a_product_of_float32_is_exact_and_one_of_half_precision_is_of_rounded_operands(rng):
    inputs, weight = (tf.constant(rng.normal(size=shape), tf.float32) for shape in ((2, 6, 5), (5, 3)))
    np.testing.assert_array_equal(product(inputs, weight, "float32"), tf.tensordot(inputs, weight, 1))
    found = product(inputs, weight, "bfloat16")
    assert found.dtype == tf.float32
    np.testing.assert_array_equal(found, rounded(found))
    operands = rounded(inputs), rounded(weight)
    error = np.abs(found - tf.tensordot(*operands, 1))
    assert (error <= ROUNDED_SUMS * tf.tensordot(*map(tf.abs, operands), 1)).numpy().all()
    assert np.abs(found - tf.tensordot(inputs, weight, 1)).max() > 0


def test_a_convolution_over_frequency_is_in_half_precision():
    section = Recipe.model_fields["model"].annotation
    model = build_model(TypeAdapter(section).validate_python(SECTIONS["delayed_lstm"]), bins=6, units=4, seed=2)
    set_computation(model, "bfloat16", devices=[])
    layers = [*model.convolution.convolutions, model.convolution.projection]
    assert [layer.compute_dtype for layer in layers] == ["bfloat16"] * 3


@pytest.mark.parametrize("family", ["bfa", "mocha"])
def test_the_readout_is_in_half_precision_and_energies_are_not(family):
    model = {"bfa": tiny_bfa.tiny_bfa, "mocha": tiny_mocha.tiny_mocha}[family]()
    set_computation(model, "bfloat16", devices=[])
    assert model.decoder.compute_dtype == "bfloat16"
    attention = model.decoder.attention
    assert {layer.compute_dtype for layer in (attention, *attention._flatten_layers())} == {"float32"}


def test_the_lstm_of_a_cpu_is_that_of_rounded_operands(rng):
    layer = Lstm(5, 4, seed=1, name="lstm")
    inputs, start = tf.constant(rng.normal(size=(6, 3, 5)), tf.float32), tf.zeros((3, 4))
    layer.dtype_policy = "mixed_bfloat16"
    found = layer(inputs, start, start)
    layer.dtype_policy = "float32"
    layer.weight.assign(rounded(layer.weight.value))
    for one, other in zip(found, layer(rounded(inputs), start, start), strict=True):
        assert one.dtype == tf.float32
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("kernel", ["graph", "compiled"])
def test_the_state_of_an_lstm_is_float32_so_that_chunks_have_the_bits_of_the_whole(rng, kernel, peepholes):
    layer = Lstm(5, 4, seed=1, name="lstm", peepholes=peepholes)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    inputs, *start = (tf.constant(rng.normal(size=shape), tf.float32) for shape in ((12, 3, 5), (3, 4), (3, 4)))
    layer.dtype_policy, layer.kernel = "mixed_bfloat16", kernel
    whole, *after = layer(inputs, *start)
    parts, state = [], start
    for chunk in tf.split(inputs, 4):
        outputs, *state = layer(chunk, *state)
        parts.append(outputs)
    for one, other in zip((tf.concat(parts, 0), *state), (whole, *after), strict=True):
        np.testing.assert_array_equal(one, other)
    layer.dtype_policy = "float32"  # bias and peepholes are not rounded
    layer.weight.assign(rounded(layer.weight.value))
    for one, other in zip(layer(rounded(inputs), *start), (whole, *after), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", ["graph", "compiled"])
def test_an_lstm_rounds_inputs_that_it_takes_apart_as_it_does_in_one(rng, kernel):
    layer, start = Lstm(5, 4, seed=1, name="lstm"), tf.constant(rng.normal(size=(3, 4)), tf.float32)
    inputs = tf.constant(rng.normal(size=(6, 3, 5)), tf.float32)
    layer.dtype_policy, layer.kernel = "mixed_bfloat16", kernel
    for one, other in zip(layer.recur(layer.project(inputs), start, start), layer(inputs, start, start), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("precision", "expected"), [("float16", "float16"), ("bfloat16", "float32")])
def test_cudnn_is_handed_what_it_has_gradients_of_and_returns_float32(rng, monkeypatch, precision, expected):
    handed = []

    def kernel(**given):
        handed.extend(given[name].dtype.name for name in ("input", "input_h", "input_c", "params"))
        return documented_cudnn(**given)

    monkeypatch.setattr(tf.raw_ops, "CudnnRNNV3", kernel)
    layer, start = Lstm(5, 4, seed=1, name="lstm"), tf.zeros((3, 4))
    inputs = tf.constant(rng.normal(size=(6, 3, 5)), tf.float32)
    exact = layer(inputs, start, start)
    layer.dtype_policy, layer.kernel = f"mixed_{precision}", "cudnn"
    found = layer(inputs, start, start)
    assert set(handed) == {expected}
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == tf.float32
        np.testing.assert_allclose(one, other, atol=2e-2)
        assert np.abs(one - other).max() > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_nearly_the_same_outputs_and_a_gradient_of_each_weight(rng, family):
    section = Recipe.model_fields["model"].annotation
    model = build_model(TypeAdapter(section).validate_python(SECTIONS[family]), bins=6, units=4, seed=2)
    lengths, labels, counts = (tf.constant(one) for one in ([12, 9], [[0, 1, 3], [2, 0, 0]], [3, 1]))
    inputs = Inputs(tf.constant(rng.normal(size=(2, 12, 6)), tf.float32), lengths, labels, counts)
    exact, exact_gradients = with_gradients(model, inputs)
    set_computation(model, "bfloat16", devices=[])
    found, gradients = with_gradients(model, inputs)
    assert {one.dtype for one in found} == {tf.float32}
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=ROUNDED_SUMS, atol=0.1)
        assert np.abs(one - other).max() > 0
    for variable, gradient, exactly in zip(model.trainable_variables, gradients, exact_gradients, strict=True):
        assert (gradient is None) == (exactly is None), variable.path  # hard attention has none for its energies
        assert gradient is None or np.isfinite(tf.convert_to_tensor(gradient)).all()
        assert variable.value.dtype == tf.float32


def with_gradients(model, inputs):
    with tf.GradientTape() as tape:
        found = outputs(model, inputs)
        loss = tf.add_n([tf.reduce_sum(one[..., 0]) for one in found])
    return found, tape.gradient(loss, [v.value for v in model.trainable_variables])


def outputs(model, inputs):
    found = model.outputs(inputs)
    return [one for one in (found.frames, found.labels) if one is not None]
