"""The compiled LSTM, as this processor runs it and as any does; beside the textbook's in `test_lstm_ctc.py`."""

import importlib
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.models import compiled_lstm
from sonorant.models.lstm import Lstm
from sonorant.tensorflow import tf

FORWARD = ("products", "recurrent", "peepholes", "cell", "hidden")


@pytest.fixture(scope="module", params=["kernels", "kernels_portable"])
def kernels(request):
    return importlib.import_module(f"sonorant.models.{request.param}")


def draw(seed, steps, rows, cells):
    rng = np.random.default_rng(seed)
    shapes = (steps, rows, 4 * cells), (cells, 4 * cells), (3, cells), (rows, cells), (rows, cells)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in zip(FORWARD, shapes, strict=True)}


def empty(*shapes):
    return [np.full(shape, np.nan, np.float32) for shape in shapes]


def passes(kernels, seed, of, threads=1):
    """Return what the forward pass makes, and the backward pass of random gradients."""
    steps, rows, cells = *of["products"].shape[:2], len(of["recurrent"])
    made = empty((steps, rows, 4 * cells), (steps, rows, cells), (steps, rows, cells))
    kernels.lstm_forward(*of.values(), threads, *made)
    d_outputs = np.random.default_rng(seed).normal(size=(rows, steps, cells)).astype(np.float32)
    d_last_cell = np.random.default_rng(seed + 1).normal(size=(rows, cells)).astype(np.float32)
    gradients = np.ascontiguousarray(d_outputs.transpose(1, 0, 2)), d_last_cell
    back = empty((steps, rows, 4 * cells), (rows, cells), (rows, cells))
    given = *gradients, made[0], made[1], of["cell"], of["recurrent"], of["peepholes"]
    kernels.lstm_backward(*given, threads, *back)
    return [*made, *back]


@settings(deadline=None, max_examples=40)
@given(
    steps=st.integers(1, 5), rows=st.integers(1, 40), cells=st.integers(1, 70), threads=st.integers(0, 5),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_an_utterance_has_the_same_bits_alone_and_in_company_and_with_any_threads(
    kernels, steps, rows, cells, threads, seed
):
    of = draw(seed, steps, rows, cells)
    whole = passes(kernels, seed, of, threads)
    first = of | {"products": of["products"][:, :1].copy(), "cell": of["cell"][:1], "hidden": of["hidden"][:1]}
    for one, all_of_them in zip(passes(kernels, seed, first), whole, strict=True):
        row = all_of_them[:, :1] if all_of_them.ndim == 3 else all_of_them[:1]
        np.testing.assert_array_equal(one, row)


def test_the_portable_kernel_computes_the_same():
    assert importlib.import_module("sonorant.models.kernels_portable").VARIANT == "portable"
    of = draw(3, 6, 19, 50)
    fast, portable = (passes(importlib.import_module(f"sonorant.models.{name}"), 3, of)
                      for name in ("kernels", "kernels_portable"))  # fmt: skip
    for one, other in zip(fast, portable, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("products", (2, 3, 17), r"products: expected \[T, B, 4 cells\]"),
        ("recurrent", (4, 15), r"recurrent: expected \[cells, 4 cells\]"),
        ("peepholes", (2, 4), r"peepholes: expected \[3, cells\]"),
        ("cell", (2, 4), r"cell: expected \[B, cells\]"),
        ("hidden", (3, 5), r"hidden: expected \[B, cells\]"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(kernels, name, shape, expected):
    of = draw(0, 2, 3, 4) | {name: np.zeros(shape, np.float32)}
    with pytest.raises(ValueError, match=expected):
        kernels.lstm_forward(*of.values(), 1, *empty((2, 3, 16), (2, 3, 4), (2, 3, 4)))


@pytest.mark.parametrize(
    ("at", "shape", "expected"),
    [
        (0, (2, 3, 5), r"d_outputs: expected \[T, B, cells\]"),
        (1, (2, 4), r"d_last_cell: expected \[B, cells\]"),
        (3, (1, 3, 4), r"cells: expected \[T, B, cells\]"),
        (4, (4, 4), r"cell: expected \[B, cells\]"),
        (5, (4, 12), r"recurrent: expected \[cells, 4 cells\]"),
        (6, (3, 3), r"peepholes: expected \[3, cells\]"),
    ],
)
def test_gradients_that_do_not_fit_are_refused_by_name(kernels, at, shape, expected):
    given = empty((2, 3, 4), (3, 4), (2, 3, 16), (2, 3, 4), (3, 4), (4, 16), (3, 4))
    given[at] = np.zeros(shape, np.float32)
    with pytest.raises(ValueError, match=expected):
        kernels.lstm_backward(*given, 1, *empty((2, 3, 16), (3, 4), (3, 4)))


def test_its_graph_knows_its_shapes_and_takes_any_number_of_steps_and_utterances():
    layer = Lstm(5, 4, seed=1, name="lstm")
    exact = Lstm(5, 4, seed=1, name="lstm")
    layer.kernel = "compiled"

    @tf.function
    def step(inputs):
        start = tf.zeros((tf.shape(inputs)[1], 4))
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs, cell, hidden = layer(inputs, start, start)
        return outputs, cell, hidden, *tape.gradient(outputs, [inputs, layer.weight.value, layer.bias.value])

    graph = step.get_concrete_function(tf.TensorSpec([None, None, 5]))
    shapes = [one.shape.as_list() for one in graph.structured_outputs]
    assert shapes == [[None, None, 4], [None, 4], [None, 4], [None, None, 5], [9, 16], [16]]
    for steps, rows in ((1, 1), (7, 30)):
        inputs = tf.random.stateless_normal((steps, rows, 5), (steps, rows))
        expected, *_ = exact(inputs, tf.zeros((rows, 4)), tf.zeros((rows, 4)))
        np.testing.assert_allclose(graph(inputs)[0], expected, atol=1e-6)


def test_in_half_precision_it_multiplies_rounded_operands_in_float32():
    layer, exact = (Lstm(5, 4, seed=1, name="lstm") for _ in range(2))
    inputs, start = tf.random.stateless_normal((6, 3, 5), (1, 2)), tf.zeros((3, 4))
    layer.kernel, layer.dtype_policy = "compiled", "mixed_bfloat16"
    exact.dtype_policy = "mixed_bfloat16"
    for one, other in zip(layer(inputs, start, start), exact(inputs, start, start), strict=True):
        assert one.dtype == tf.float32
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(("limit", "expected"), [(0, 3), (5, 5)])
def test_it_has_the_threads_of_an_operation_of_tensorflow(monkeypatch, limit, expected):
    """By default as many as cores that the process may use."""
    threads = []
    monkeypatch.setattr(tf.config.threading, "get_intra_op_parallelism_threads", lambda: limit)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 4, 5})
    monkeypatch.setattr(compiled_lstm, "lstm_forward", lambda *given: threads.append(given[5]))
    start = tf.zeros((2, 4))
    compiled_lstm.compiled_recurrence(tf.zeros((3, 2, 16)), start, start, tf.zeros((4, 16)), tf.zeros((3, 4)))
    assert threads == [expected]
