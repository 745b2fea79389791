"""The compiled stack of LSTM layers, as this processor runs it and as any does, beside one in NumPy, in Float64."""

import importlib
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng
LEVEL = np.array([0.9, 0.4], np.float32)
RUNNING_MEAN = np.array([0.95, 0.01, 6, 0.8], np.float32)
NONE = np.empty(0, np.float32)


@pytest.fixture(scope="module", params=["kernels", "kernels_portable"])
def kernels(request):
    return importlib.import_module(f"sonorant.export.{request.param}")


class Stack:
    """Random weights, the compiled stack, and a plain one."""

    def __init__(
        self, kernels, bins, cells, symbols, level=NONE, running_mean=NONE, scale=0.5, seed=0, convolution=None
    ):
        rng = RNG(seed)
        self.convolution = convolution
        sizes = [bins, *cells]
        if convolution:
            sizes[0] = convolution.size
        self.mean, self.deviation = self.normal(rng, bins), 0.5 + rng.random(bins, np.float32)
        self.layers = [
            (self.normal(rng, n + m, 4 * m) * np.float32(scale), self.normal(rng, 4 * m)) for n, m in pairwise(sizes)
        ]
        self.projection = self.normal(rng, sizes[-1], symbols), self.normal(rng, symbols)
        self.level, self.running_mean, self.bins, self.symbols = level, running_mean, bins, symbols
        compiled = convolution and convolution.compiled(kernels)
        normalisation = self.mean, self.deviation, level, running_mean
        self.of = kernels.LstmStack(*normalisation, compiled, self.layers, self.projection)
        cells_and_hidden = np.zeros(2 * sum(cells), np.float32)
        peak = level[1:]
        mean = np.concatenate([self.normal(rng, bins), np.float32([5, -0.8])]) if len(running_mean) else NONE
        self.start = np.concatenate([cells_and_hidden, peak, mean], dtype=np.float32)

    @staticmethod
    def normal(rng, *shape):
        return rng.standard_normal(shape, dtype=np.float32)

    def advance(self, streams, states):
        """Return log-probabilities and state of each stream."""
        lengths = np.array([len(vectors) for vectors in streams], np.int32)
        after, log_probs = np.stack(states), np.empty((lengths.sum(), self.symbols), np.float32)
        self.of.advance(np.concatenate(streams), lengths, after, log_probs)
        return np.split(log_probs, np.cumsum(lengths)[:-1]), list(after)

    def plain(self, vectors):
        """Return the log-probabilities and the state of a new stream's vectors [T, bins]."""
        state = self.start.astype(float)
        found = [self.plain_step(vector.astype(float), state) for vector in vectors]
        return np.reshape(found, (-1, self.symbols)), state

    def plain_step(self, x, state):
        at = 0
        normalisation = state[sum(2 * bias.size // 4 for _, bias in self.layers) :]
        if len(self.level):
            kept, least = self.level
            normalisation[0] = max(kept * normalisation[0], x.mean(), least)
            x, normalisation = x / normalisation[0], normalisation[1:]
        x = (x - self.mean) / self.deviation
        if len(self.running_mean):
            decay, fall, steepness, below = self.running_mean.astype(float)
            normalisation[-1] = max(normalisation[-1] - fall, x.mean())
            weight = sigmoid(steepness * (x.mean() - normalisation[-1] + below))
            normalisation[:-1] = weight * np.append(x, 1) + decay * normalisation[:-1]
            x = x - normalisation[:-2] / normalisation[-2]
        if self.convolution:
            x = self.convolution.plain(x)
        for weight, bias in self.layers:
            cells = bias.size // 4
            cell, hidden = state[at : at + cells], state[at + cells : at + 2 * cells]
            i, g, f, o = np.split(np.append(x, hidden) @ weight.astype(float) + bias, 4)
            cell[:] = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            hidden[:] = sigmoid(o) * np.tanh(cell)
            x, at = hidden, at + 2 * cells
        weight, bias = self.projection
        scores = x @ weight.astype(float) + bias
        return scores - np.logaddexp.reduce(scores)


class Convolution:
    """Random weights of a convolution over frequency, the compiled one, and a plain one."""

    def __init__(self, bins, frames, width, pool, pooled_width, filters=5, others=4, size=6):
        self.bins, self.frames, self.width, self.pool, self.pooled_width = bins, frames, width, pool, pooled_width
        self.size = size
        self.maxima = (bins - width + 1) // pool
        self.last = self.maxima - pooled_width + 1
        rng = RNG(3)
        shapes = (width * frames, filters), (pooled_width * filters, others), (self.last * others, size)
        self.layers = [(Stack.normal(rng, *shape), Stack.normal(rng, shape[1])) for shape in shapes]

    def compiled(self, kernels):
        return kernels.FrequencyConvolution(self.bins * self.frames, self.frames, self.pool, *self.layers)

    def plain(self, x):
        """Return the values [size] of a vector [frames bins]."""
        first, second, projection = [
            lambda values, weight=weight, bias=bias: np.ravel(values) @ weight.astype(float) + bias
            for weight, bias in self.layers
        ]
        of_bins = x.reshape(self.frames, self.bins).T
        positions = [first(of_bins[i : i + self.width]) for i in range(self.bins - self.width + 1)]
        maxima = [
            np.maximum(0, np.max(positions[self.pool * i : self.pool * (i + 1)], axis=0)) for i in range(self.maxima)
        ]
        return projection([np.maximum(0, second(maxima[i : i + self.pooled_width])) for i in range(self.last)])


CONVOLUTIONS = [
    Convolution(bins=40, frames=8, width=8, pool=3, pooled_width=4),
    Convolution(bins=9, frames=2, width=2, pool=3, pooled_width=1, filters=17, others=16, size=33),  # two bins unused
    Convolution(bins=5, frames=1, width=5, pool=1, pooled_width=1, filters=1, others=1, size=1),
]


def sigmoid(x):
    return 0.5 * (1 + np.tanh(x / 2))


def utterances(bins, lengths, seed=1):
    return [np.abs(Stack.normal(RNG([seed, i]), length, bins)) for i, length in enumerate(lengths)]


@pytest.mark.parametrize("level", [NONE, LEVEL], ids=["", "level"])
@pytest.mark.parametrize("running_mean", [NONE, RUNNING_MEAN], ids=["", "running mean"])
@pytest.mark.parametrize(("bins", "cells", "symbols"), [(3, [5], 2), (20, [16, 7], 35), (1, [1, 1, 1], 1)])
def test_outputs_and_states_are_those_of_the_equations(kernels, bins, cells, symbols, level, running_mean):
    stack = Stack(kernels, bins, cells, symbols, level, running_mean)
    streams = utterances(bins, [1, 0, 7, 30, 7, 2, 90, 3])
    found, states = stack.advance(streams, [stack.start] * len(streams))
    for vectors, log_probs, state in zip(streams, found, states, strict=True):
        expected, after = stack.plain(vectors)
        np.testing.assert_allclose(log_probs, expected, atol=2e-5)
        np.testing.assert_allclose(state, after, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_a_convolution_is_that_of_the_equations(kernels, convolution):
    bins = convolution.bins * convolution.frames
    stack = Stack(kernels, bins, [7], 4, LEVEL, RUNNING_MEAN, scale=0.02, convolution=convolution)
    streams = utterances(bins, [1, 0, 7, 90])
    found, states = stack.advance(streams, [stack.start] * len(streams))
    for vectors, log_probs, state in zip(streams, found, states, strict=True):
        expected, after = stack.plain(vectors)
        np.testing.assert_allclose(log_probs, expected, atol=5e-5)
        np.testing.assert_allclose(state, after, atol=5e-5, rtol=5e-5)


@pytest.mark.parametrize("symbols", [1000, 8000])
def test_many_symbols_of_little_probability_add_up(kernels, symbols):
    bias = np.full(symbols, -17.4, np.float32)
    bias[3] = 0
    layers = [(np.zeros((2, 4), np.float32), np.zeros(4, np.float32))]
    projection = np.zeros((1, symbols), np.float32), bias
    stack = kernels.LstmStack(np.zeros(1, np.float32), np.ones(1, np.float32), NONE, NONE, None, layers, projection)
    log_probs = np.empty((1, symbols), np.float32)
    stack.advance(np.zeros((1, 1), np.float32), np.ones(1, np.int32), np.zeros((1, 2), np.float32), log_probs)
    expected = bias.astype(float) - np.logaddexp.reduce(bias.astype(float))
    np.testing.assert_allclose(log_probs[0], expected, rtol=1e-5)


def test_threads_may_share_a_stack(kernels):
    stack = Stack(kernels, 9, [11, 8], 5, LEVEL, RUNNING_MEAN)
    streams = utterances(9, [50, 3, 17, 90])
    found, _ = stack.advance(streams, [stack.start] * 4)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            again = pool.map(lambda vectors: stack.advance([vectors], [stack.start])[0][0], streams)
            for log_probs, expected in zip(again, found, strict=True):
                np.testing.assert_array_equal(log_probs, expected)


def test_more_streams_than_vectors_are_computed_at_once(kernels):
    stack = Stack(kernels, 4, [5], 3, LEVEL, RUNNING_MEAN)
    streams = utterances(4, [i % 5 for i in range(150)])
    found, states = stack.advance(streams, [stack.start] * 150)
    for place in (0, 1, 63, 64, 149):
        (log_probs,), (state,) = stack.advance([streams[place]], [stack.start])
        np.testing.assert_array_equal(log_probs, found[place])
        np.testing.assert_array_equal(state, states[place])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_stream_has_the_same_bits_in_any_company_and_however_it_is_cut(kernels, data):
    convolution = data.draw(st.sampled_from([None, Convolution(3, frames=3, width=2, pool=1, pooled_width=2)]))
    stack = Stack(kernels, 9, [11, 8], 5, LEVEL, RUNNING_MEAN, convolution=convolution)
    lengths = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=40))
    place = data.draw(st.integers(0, len(lengths) - 1))
    streams = utterances(9, lengths)
    found, states = stack.advance(streams, [stack.start] * len(streams))
    cuts = sorted(data.draw(st.lists(st.integers(0, lengths[place]), max_size=5)))
    state, alone = stack.start, []
    for part in np.split(streams[place], cuts):
        (log_probs,), (state,) = stack.advance([part], [state])
        alone.append(log_probs)
    np.testing.assert_array_equal(np.concatenate(alone), found[place])
    np.testing.assert_array_equal(state, states[place])


def test_activations_far_out_and_near_zero_are_exact(kernels):
    """With an open output gate and a closed forget gate the hidden state is tanh(sigmoid(i) tanh(g))."""
    scores = np.float32([0, 1e-8, -1e-8, 1e-4, -0.3, 0.35, 1, -5, 8.9, -20, 87, -88, 300, -3e4, 3e38])
    for i, g in np.array(np.meshgrid(scores, scores)).reshape(2, -1).T:
        layers = [(np.zeros((2, 4), np.float32), np.float32([i, g, -100, 100]))]
        projection = np.float32([[1, 0]]), np.zeros(2, np.float32)
        stack = kernels.LstmStack(np.zeros(1, np.float32), np.ones(1, np.float32), NONE, NONE, None, layers, projection)
        state, log_probs = np.zeros((1, 2), np.float32), np.empty((1, 2), np.float32)
        stack.advance(np.zeros((1, 1), np.float32), np.ones(1, np.int32), state, log_probs)
        cell = sigmoid(float(i)) * np.tanh(float(g))
        np.testing.assert_allclose(state[0], [cell, np.tanh(cell)], rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("convolution", [None, Convolution(3, frames=1, width=2, pool=2, pooled_width=1)])
def test_what_is_no_number_comes_out_as_none(kernels, convolution):
    stack = Stack(kernels, 3, [5], 4, convolution=convolution)
    vectors = np.float32([[1, 2, 3], [1, np.nan, 3]])
    (log_probs,), _ = stack.advance([vectors], [stack.start])
    assert np.isfinite(log_probs[0]).all()
    assert np.isnan(log_probs[1]).all()


def test_no_vectors_change_nothing(kernels):
    stack = Stack(kernels, 3, [5], 4)
    (log_probs,), (state,) = stack.advance([np.empty((0, 3), np.float32)], [stack.start])
    assert log_probs.shape == (0, 4)
    np.testing.assert_array_equal(state, stack.start)


def test_sizes_that_do_not_fit_are_refused(kernels):
    stack = Stack(kernels, 3, [5], 4)
    good = {
        "features": np.zeros((2, 3), np.float32),
        "lengths": np.array([2], np.int32),
        "states": stack.start[None].copy(),
        "log_probs": np.empty((2, 4), np.float32),
    }
    stack.of.advance(**good)
    for name, bad, why in (
        ("features", np.zeros((3, 3), np.float32), "not the number of vectors"),
        ("features", np.zeros((2, 4), np.float32), "vectors of other bins"),
        ("lengths", np.array([3, -1], np.int32), "below 0"),
        ("lengths", np.array([1, 1], np.int32), "states of another size"),
        ("states", np.zeros((1, 9), np.float32), "states of another size"),
        ("log_probs", np.empty((2, 5), np.float32), "log_probs of another size"),
        ("log_probs", np.empty((1, 4), np.float32), "log_probs of another size"),
    ):
        with pytest.raises(ValueError, match=why):
            stack.of.advance(**good | {name: bad})
    with pytest.raises(TypeError):
        stack.of.advance(**good | {"features": np.zeros((2, 3))})


def test_weights_that_do_not_fit_are_refused(kernels):
    def floats(*shape):
        return np.zeros(shape, np.float32)

    convolution = CONVOLUTIONS[2].compiled(kernels)
    good = [floats(3), floats(3), NONE, NONE, None, [(floats(5, 8), floats(8))], (floats(2, 4), floats(4))]
    kernels.LstmStack(*good)
    for place, bad, why in (
        (1, floats(4), "mean and deviation"),
        (2, floats(1), "two numbers"),
        (3, floats(3), "four"),
        (4, convolution, "vectors of other bins"),
        (5, [], "expected layers"),
        (5, [(floats(6, 8), floats(8))], r"layer 0: \[6, 8\]; expected \[5, 8\]"),
        (5, [(floats(5, 8), floats(8)), (floats(2, 4), floats(4))], r"layer 1: \[2, 4\]; expected \[3, 4\]"),
        (5, [(floats(5, 8), floats(7))], "four numbers for each cell"),
        (6, (floats(3, 4), floats(4)), r"projection: \[3, 4\]; expected \[2, 4\]"),
        (6, (floats(2, 4), floats(3)), r"projection: \[2, 4\]; expected \[2, 3\]"),
        (6, (floats(2, 0), floats(0)), "symbols"),
    ):
        with pytest.raises(ValueError, match=why):
            kernels.LstmStack(*good[:place], bad, *good[place + 1 :])


def test_weights_of_a_convolution_that_do_not_fit_are_refused(kernels):
    def weights(terms, columns):
        return np.zeros((terms, columns), np.float32), np.zeros(columns, np.float32)

    good = [18, 3, 2, weights(6, 4), weights(8, 5), weights(5, 7)]  # 6 bins, windows of 2: 5 positions, 2 maxima
    kernels.FrequencyConvolution(*good)
    for place, bad, why in (
        (0, 19, "bins of a vector"),
        (1, 0, "frames"),
        (2, 0, "pool"),
        (3, weights(7, 4), "first filters"),
        (3, weights(0, 4), "first filters"),
        (3, weights(21, 4), "all bins"),
        (3, (weights(6, 4)[0], np.zeros(3, np.float32)), r"first filters: \[6, 4\]; expected \[6, 3\]"),
        (3, weights(6, 0), "first filters"),
        (4, weights(9, 5), "second filters"),
        (4, weights(0, 5), "second filters"),
        (4, weights(12, 5), "all maxima"),
        (4, (weights(8, 5)[0], np.zeros(6, np.float32)), r"second filters: \[8, 5\]; expected \[8, 6\]"),
        (5, weights(6, 7), r"projection: \[6, 7\]; expected \[5, 7\]"),
        (5, (weights(5, 7)[0], np.zeros(8, np.float32)), r"projection: \[5, 7\]; expected \[5, 8\]"),
        (5, weights(5, 0), "projection"),
    ):
        with pytest.raises(ValueError, match=why):
            kernels.FrequencyConvolution(*good[:place], bad, *good[place + 1 :])


def test_the_portable_kernels_are_what_they_are_called():
    assert importlib.import_module("sonorant.export.kernels_portable").VARIANT == "portable"
