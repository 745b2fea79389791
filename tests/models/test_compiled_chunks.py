"""The compiled recurrence by chunk, as this processor runs it and as any does, beside TensorFlow, chunk by chunk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.kernel_variants import VARIANTS, calling

from sonorant.models import compiled_chunks as module
from sonorant.models.compiled_chunks import compiled_chunks
from sonorant.models.lstm import Lstm
from sonorant.tensorflow import tf


@pytest.fixture(scope="module", params=VARIANTS)
def kernels(request):
    with calling(module, request.param) as compiled:
        yield compiled


def draw(seed, chunks, chunk, rows, cells):
    """Return a layer, and inputs [T + chunk, B, 3]."""
    layer = Lstm(3, cells, seed, "lstm")
    return layer, tf.constant(np.random.default_rng(seed).normal(size=((chunks + 1) * chunk, rows, 3)), tf.float32)


def by_kernel(layer, inputs, chunk):
    layer.kernel = "compiled"
    return compiled_chunks(layer.project(inputs), layer.recurrent, chunk)


def by_definition(layer, inputs, chunk):
    """The same: through each chunk, and the one after it, from the end."""
    layer.kernel, outputs = "graph", []
    start = tf.zeros((inputs.shape[1], layer.cells))
    for begin in range(0, len(inputs) - chunk, chunk):
        back, *_ = layer(inputs[begin : begin + 2 * chunk][::-1], start, start)
        outputs.append(back[::-1][:chunk])
    return tf.concat(outputs, 0)


def passes(function, layer, inputs, chunk):
    """Return outputs, and the gradients of random ones of these."""
    rng, weights = np.random.default_rng(1), [layer.weight.value, layer.bias.value]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = function(layer, inputs, chunk)
        loss = tf.reduce_sum(outputs * rng.normal(size=outputs.shape).astype(np.float32))
    return [outputs, *tape.gradient(loss, [inputs, *weights])]


@given(
    seed=st.integers(0, 99), chunks=st.integers(1, 4), chunk=st.integers(1, 5), rows=st.integers(1, 20),
    cells=st.integers(1, 40),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_outputs_and_gradients_are_those_of_each_chunk_by_itself(kernels, seed, chunks, chunk, rows, cells):
    layer, inputs = draw(seed, chunks, chunk, rows, cells)
    of_kernel, expected = (passes(function, layer, inputs, chunk) for function in (by_kernel, by_definition))
    for one, other in zip(of_kernel, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=2e-4)


def test_an_utterance_has_the_same_bits_alone_and_in_company_and_with_any_threads(kernels, monkeypatch):
    layer, inputs = draw(3, 3, 4, 21, 30)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(module, "kernel_threads", lambda threads=threads: threads)
        found.append(passes(by_kernel, layer, inputs, 4))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    products = layer.project(inputs)
    outputs = compiled_chunks(products, layer.recurrent, 4)
    np.testing.assert_array_equal(compiled_chunks(products[:, 5:6], layer.recurrent, 4), outputs[:, 5:6])


def test_a_graph_knows_its_shapes_and_takes_any_number_of_chunks_and_utterances():
    layer, _ = draw(2, 1, 3, 1, 4)

    @tf.function
    def step(inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = by_kernel(layer, inputs, 3)
        return outputs, *tape.gradient(outputs, [inputs, layer.weight.value])

    graph = step.get_concrete_function(tf.TensorSpec([None, None, 3]))
    assert [one.shape.as_list() for one in graph.structured_outputs] == [[None, None, 4], [None, None, 3], [7, 16]]
    for chunks, rows in ((1, 1), (3, 30), (2, 0)):
        assert graph(tf.ones(((chunks + 1) * 3, rows, 3)))[0].shape == (chunks * 3, rows, 4)


REFUSED = {
    "products": ((4, 5, 16), r"products: expected \[T \+ chunk, B, 4 cells\]"),
    "recurrent": ((4, 15), r"recurrent: expected \[cells, 4 cells\]"),
    "gates": ((2, 4, 5, 15), r"gates: expected \[2, T, B, 4 cells\]"),
    "cells": ((1, 4, 5, 4), r"cells: expected \[2, T, B, cells\]"),
    "heard": ((2, 4, 6, 4), r"heard: expected \[2, T, B, cells\]"),
    "outputs": ((5, 5, 4), "outputs: expected whole chunks"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arrays_that_do_not_fit_are_refused_by_name(kernels, name):
    shapes = {"products": (6, 5, 16), "recurrent": (4, 16), "gates": (2, 4, 5, 16), "cells": (2, 4, 5, 4),
              "heard": (2, 4, 5, 4), "outputs": (4, 5, 4)}  # fmt: skip
    arrays = {key: np.zeros(own, np.float32) for key, own in {**shapes, name: REFUSED[name][0]}.items()}
    with pytest.raises(ValueError, match=REFUSED[name][1]):
        kernels.lstm_chunks_forward(**arrays, chunk=2, threads=1)


BACK = {
    "d_outputs": ((4, 5, 3), r"d_outputs: expected \[T, B, cells\]"),
    "gates": ((2, 4, 5, 15), r"gates: expected \[2, T, B, 4 cells\]"),
    "d_gates": ((2, 2, 5, 16), r"d_gates: expected \[2, T, B, 4 cells\]"),
    "d_products": ((4, 5, 16), r"d_products: expected \[T \+ chunk, B, 4 cells\]"),
}


@pytest.mark.parametrize("name", BACK)
def test_gradients_that_do_not_fit_are_refused_by_name(kernels, name):
    shapes = {"d_outputs": (4, 5, 4), "gates": (2, 4, 5, 16), "cells": (2, 4, 5, 4), "recurrent": (4, 16),
              "d_gates": (2, 4, 5, 16), "d_products": (6, 5, 16)}  # fmt: skip
    arrays = {key: np.zeros(own, np.float32) for key, own in {**shapes, name: BACK[name][0]}.items()}
    with pytest.raises(ValueError, match=BACK[name][1]):
        kernels.lstm_chunks_backward(**arrays, chunk=2, threads=1)
