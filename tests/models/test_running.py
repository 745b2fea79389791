"""Recurrences along time, by doubling and by the kernels, beside their definition."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.models import running
from sonorant.models.computation import set_computation
from sonorant.models.registry import build_model
from sonorant.models.running import decaying_peaks, decaying_sums, falling_peaks
from sonorant.models.section import LstmCtcRecipe
from sonorant.tensorflow import tf

RECURRENCES = {
    "sums": (lambda x, c: decaying_sums(x, 0.9, compiled=c), lambda y, x: 0.9 * y + x),
    "falling": (lambda x, c: falling_peaks(x, 0.05, compiled=c), lambda y, x: max(y - 0.05, x)),
    "decaying": (lambda x, c: decaying_peaks(x, 0.97, compiled=c), lambda y, x: max(0.97 * y, x)),
}


@pytest.fixture(params=["doubling", "kernels", "kernels_portable"])
def compiled(request, monkeypatch):
    if request.param != "doubling":
        monkeypatch.setattr(running, "kernels", importlib.import_module(f"sonorant.models.{request.param}"))
    return request.param != "doubling"


@pytest.mark.parametrize("name", RECURRENCES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 40, 5), (2, 300, 33)])
def test_each_value_follows_from_the_one_before(compiled, name, shape):
    function, following = RECURRENCES[name]
    values = np.random.default_rng(1).uniform(0, 1, shape).astype(np.float32)
    found = function(tf.constant(values), compiled).numpy()
    expected = values.astype(np.float64)
    for b, t, i in np.ndindex(shape):
        if t:
            expected[b, t, i] = following(expected[b, t - 1, i], values[b, t, i])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", RECURRENCES)
def test_what_is_no_number_stays(compiled, name):
    function, _ = RECURRENCES[name]
    found = function(tf.constant([[[1.0], [np.nan], [1.0], [9.0]], [[1.0], [1.0], [1.0], [1.0]]]), compiled)
    np.testing.assert_array_equal(np.isnan(found[..., 0]), [[False, True, True, True], [False] * 4])


@given(rows=st.integers(1, 9), vectors=st.integers(0, 20), threads=st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_an_utterance_has_the_same_bits_alone_and_with_any_threads(rows, vectors, threads):
    values = np.random.default_rng(rows).uniform(0, 1, (rows, vectors, 3)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "kernel_threads", lambda: threads)
        whole = decaying_sums(tf.constant(values), 0.5, compiled=True)
    np.testing.assert_array_equal(whole[:1], decaying_sums(tf.constant(values[:1]), 0.5, compiled=True))


def test_no_gradient_goes_through_it(compiled):
    values = tf.ones((2, 5, 3))
    with tf.GradientTape() as tape:
        tape.watch(values)
        loss = tf.reduce_sum(values * decaying_sums(values, 0.5, compiled=compiled))
    np.testing.assert_allclose(tape.gradient(loss, values), decaying_sums(values, 0.5, compiled=compiled))


def test_a_training_on_a_cpu_normalises_by_the_kernels_as_an_export_does_without(monkeypatch):
    section = LstmCtcRecipe(cells=4, level="running", normalisation="running")
    model = build_model(section, 6, units=3, seed=1)
    features = tf.constant(np.random.default_rng(2).uniform(0, 1, (2, 50, 6)), tf.float32)
    by_graph = model.normalisation.whole(features)
    set_computation(model, devices=[])
    called, by_kernel = [], running._by_kernel
    monkeypatch.setattr(running, "_by_kernel", lambda *given: called.append(given) or by_kernel(*given))
    np.testing.assert_allclose(model.normalisation.whole(features), by_graph, atol=1e-5)
    assert len(called) == 3  # peaks of the level; peaks, and sums, of the mean


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="expected arrays of the same shape"):
        running.kernels.decaying_sums(np.zeros((1, 2, 3), np.float32), 0.5, 1, np.zeros((1, 2, 4), np.float32))
