"""The compiled convolution over frames and mel bins, beside its definition in NumPy, in Float64."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng
NONE = np.empty(0, np.float32)
SCALE = 2.0**-10  # of outputs, so that they come back from a hyperbolic tangent


@pytest.fixture(scope="module", params=["kernels", "kernels_portable"])
def kernels(request):
    return importlib.import_module(f"sonorant.export.{request.param}")


class Convolution:
    """Random weights of layers (frames, stride, pool, bins, filters)."""

    def __init__(self, frames, bins, layers, size):
        rng = RNG(3)
        self.frames, self.bins, self.size, self.layers = frames, bins, size, []
        channels = 1
        for of_window, stride, pool, width, filters in layers:
            weights = self.weights(rng, width * of_window * channels, filters)
            self.layers.append((of_window, stride, pool, weights))
            frames, bins = len(range(0, frames - of_window + 1, stride)), (bins - width + 1) // pool
            channels = filters
        self.left = bins, frames, channels
        self.projection = self.weights(rng, bins * frames * channels, size)

    @staticmethod
    def weights(rng, terms, columns):
        kernel = rng.standard_normal((terms, columns), dtype=np.float32) * np.float32((2 / terms) ** 0.5)
        return kernel, np.float32(0.2) * rng.standard_normal(columns, dtype=np.float32)

    def __repr__(self):
        layers = [(*layer[:3], layer[3][0].shape) for layer in self.layers]
        return f"{self.frames} x {self.bins}, {layers}, {self.size}"

    def compiled(self, kernels):
        return kernels.Convolution2d(self.frames * self.bins, self.frames, self.layers, self.projection)

    def vectors(self, count, seed=1):
        return RNG(seed).standard_normal((count, self.frames * self.bins), dtype=np.float32)

    def plain(self, vector):
        """Return the values [size] of a vector [frames bins]."""
        values = vector.astype(float).reshape(self.frames, self.bins, 1)
        for layer in self.layers:
            values = self.plain_layer(values, *layer)
        kernel, bias = self.projection
        return np.ravel(values.transpose(1, 0, 2)) @ kernel.astype(float) + bias

    @staticmethod
    def plain_layer(values, of_window, stride, pool, weights):
        """Return the maxima [frames', bins', filters] of values [frames, bins, channels]."""
        frames, bins, channels = values.shape
        kernel, bias = weights
        kernel = kernel.astype(float).reshape(-1, of_window, channels, kernel.shape[1])
        width = len(kernel)
        rows = []
        for first in range(0, frames - of_window + 1, stride):
            windows = [values[first : first + of_window, low : low + width] for low in range(bins - width + 1)]
            products = [Convolution.product(window, kernel) for window in windows]
            whole = range(0, len(products) - pool + 1, pool)
            rows.append([np.maximum(0, np.max(products[at : at + pool], axis=0) + bias) for at in whole])
        return np.array(rows)

    @staticmethod
    def product(window, kernel):
        """Return [filters] of a window [frames, bins, channels] and a kernel [bins, frames, channels, filters]."""
        width, frames, channels, _ = kernel.shape
        return sum(
            window[frame, bin_, channel] * kernel[bin_, frame, channel]
            for bin_ in range(width)
            for frame in range(frames)
            for channel in range(channels)
        )


class Unit:
    """A stack in whose state a convolution's outputs can be read: its cells are their hyperbolic tangents."""

    def __init__(self, kernels, convolution, bins, size):
        self.size = size
        weight, bias = np.zeros((2 * size, 4 * size), np.float32), np.zeros(4 * size, np.float32)
        weight[:size, size : 2 * size] = SCALE * np.eye(size)
        bias[:size] = 100  # input gates, which are open
        projection = np.zeros((size, 1), np.float32), np.zeros(1, np.float32)
        normalisation = np.zeros(bins, np.float32), np.ones(bins, np.float32), NONE, NONE
        self.of = kernels.LstmStack(*normalisation, convolution, [(weight, bias)], projection)

    def outputs(self, vectors):
        """Return [count, size] of vectors [count, bins], each of a stream of its own."""
        count = len(vectors)
        states, log_probs = np.zeros((count, 2 * self.size), np.float32), np.empty((count, 1), np.float32)
        self.of.advance(vectors, np.ones(count, np.int32), states, log_probs)
        return np.arctanh(states[:, : self.size].astype(float)) / SCALE


def unit(kernels, convolution):
    return Unit(kernels, convolution.compiled(kernels), convolution.frames * convolution.bins, convolution.size)


@st.composite
def convolutions(draw):
    frames, bins = draw(st.integers(1, 7)), draw(st.integers(1, 12))
    layers, left = [], (frames, bins)
    for _ in range(draw(st.integers(1, 3))):
        of_window, width = draw(st.integers(1, left[0])), draw(st.integers(1, min(4, left[1])))
        stride, pool = draw(st.integers(1, 3)), draw(st.integers(1, min(3, left[1] - width + 1)))
        layers.append((of_window, stride, pool, width, draw(st.integers(1, 18))))
        left = (left[0] - of_window) // stride + 1, (left[1] - width + 1) // pool
    return Convolution(frames, bins, layers, draw(st.integers(1, 18)))


DEEP = Convolution(12, 20, [(3, 2, 2, 4, 5), (2, 1, 3, 2, 17), (2, 1, 1, 2, 3)], 7)  # a position and bins are left out
EDGE = Convolution(5, 8, [(2, 3, 3, 1, 4), (1, 2, 2, 1, 3)], 2)  # no stride, pool or vector comes out even
WIDE = Convolution(1, 1, [(1, 1, 1, 1, 9000), (1, 1, 1, 1, 2)], 1)


@pytest.mark.parametrize(("convolution", "left"), [(DEEP, (1, 3, 3)), (EDGE, (1, 1, 3)), (WIDE, (1, 1, 2))])
def test_outputs_are_those_of_the_definition(kernels, convolution, left):
    assert convolution.left == left
    vectors = convolution.vectors(70)  # more than a slice has
    expected = [convolution.plain(vector) for vector in vectors]
    assert np.std(expected, axis=0).min() > 0.1  # not all filters are below zero everywhere
    np.testing.assert_allclose(unit(kernels, convolution).outputs(vectors), expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(convolution=convolutions(), count=st.integers(1, 7))
def test_outputs_of_any_layers_are_those_of_the_definition(kernels, convolution, count):
    vectors = convolution.vectors(count)
    expected = [convolution.plain(vector) for vector in vectors]
    np.testing.assert_allclose(unit(kernels, convolution).outputs(vectors), expected, rtol=1e-5, atol=1e-5)


def test_filters_of_first_and_last_values_find_the_largest_of_neighbouring_windows(kernels):
    """In frames 1 2 3, 4 5 6 and 7 8 9, by windows of 2 frames and 2 bins."""
    first_and_last = np.float32([[1, 0], [0, 0], [0, 0], [0, 1]]), np.zeros(2, np.float32)
    as_it_is = np.eye(4, dtype=np.float32), np.zeros(4, np.float32)
    convolution = kernels.Convolution2d(9, 3, [(2, 1, 2, first_and_last)], as_it_is)
    found = Unit(kernels, convolution, 9, 4).outputs(np.arange(1, 10, dtype=np.float32)[None])
    np.testing.assert_allclose(found, [[2, 6, 5, 9]], rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(convolution=convolutions(), count=st.integers(1, 70), data=st.data())
def test_a_vector_has_the_same_bits_in_any_company(kernels, convolution, count, data):
    stack, vectors = unit(kernels, convolution), convolution.vectors(count)
    company = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=20))
    np.testing.assert_array_equal(stack.outputs(vectors[company]), stack.outputs(vectors)[company])


def test_convolutions_of_other_sizes_leave_a_thread_s_outputs_as_they_were(kernels):
    stacks = [(unit(kernels, of), of.vectors(3)) for of in (DEEP, WIDE, EDGE)]
    first, again = ([stack.outputs(vectors) for stack, vectors in stacks] for _ in range(2))
    for before, after in zip(first, again, strict=True):
        np.testing.assert_array_equal(after, before)


def test_windows_as_long_as_a_vector_are_a_convolution_over_frequency(kernels):
    rng = RNG(0)
    first, second, projection = (Convolution.weights(rng, *shape) for shape in ((8, 5), (10, 17), (51, 6)))
    layers = [(4, 1, 2, first), (1, 1, 1, second)]
    vectors = rng.standard_normal((9, 40), dtype=np.float32)
    one, other = (
        Unit(kernels, convolution, 40, 6).outputs(vectors)
        for convolution in (
            kernels.Convolution2d(40, 4, layers, projection),
            kernels.FrequencyConvolution(40, 4, 2, first, second, projection),
        )
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("place", range(15))
def test_what_is_no_number_stays_none_where_a_window_has_it(kernels, place):
    projection = np.eye(4, dtype=np.float32), np.zeros(4, np.float32)
    maximum = np.ones((1, 1), np.float32), np.zeros(1, np.float32)
    layers = [(1, 1, 1, maximum), (1, 1, 1, maximum), (1, 2, 2, maximum)]  # of 3 x 5: 2 frames, 2 maxima of each
    convolution = kernels.Convolution2d(15, 3, layers, projection)
    vector = np.arange(1, 16, dtype=np.float32)
    vector[place] = np.nan
    frame, bin_ = divmod(place, 5)
    read = frame != 1 and bin_ < 4
    found = Unit(kernels, convolution, 15, 4).outputs(vector[None])[0]
    assert np.isnan(found).all() if read else np.isfinite(found).all()  # all, as NaN times 0 is none either


def weights(terms, columns):
    return np.zeros((terms, columns), np.float32), np.zeros(columns, np.float32)


def without_a_bias(terms, columns):
    return weights(terms, columns)[0], np.zeros(columns - 1, np.float32)


FIRST, SECOND = (3, 2, 2, weights(6, 4)), (2, 1, 1, weights(16, 5))  # of 6 x 8: 2 frames and 3 maxima; 1 and 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bins": 50}, "bins of a vector: 50; expected a multiple of 6 frames"),
        ({"bins": 0}, "bins of a vector: 0; expected a multiple of 6 frames"),
        ({"frames": 0}, "bins of a vector: 48; expected a multiple of 0 frames"),
        ({"layers": []}, "layers: 0; expected at least 1"),
        ({"layers": [(0, 2, 2, weights(6, 4)), SECOND]}, "filters 0: frames 0, stride 2, pool 2; expected at least 1"),
        ({"layers": [FIRST, (2, 0, 1, weights(16, 5))]}, "filters 1: frames 2, stride 0, pool 1; expected at least 1"),
        ({"layers": [FIRST, (2, 1, 0, weights(16, 5))]}, "filters 1: frames 2, stride 1, pool 0; expected at least 1"),
        ({"layers": [(7, 1, 1, weights(7, 4))]}, "filters 0 of more than all frames: 7; expected at most 6"),
        ({"layers": [FIRST, (3, 1, 1, weights(12, 5))]}, "filters 1 of more than all frames: 3; expected at most 2"),
        (
            {"layers": [(3, 2, 2, weights(7, 4)), SECOND]},
            "filters 0: windows of 7 values for 4 filters; expected a multiple of 3 for at least 1",
        ),
        (
            {"layers": [FIRST, (2, 1, 1, weights(0, 5))]},
            "filters 1: windows of 0 values for 5 filters; expected a multiple of 8 for at least 1",
        ),
        (
            {"layers": [FIRST, (2, 1, 1, weights(16, 0))]},
            "filters 1: windows of 16 values for 0 filters; expected a multiple of 8 for at least 1",
        ),
        ({"layers": [(3, 2, 2, weights(27, 4)), SECOND]}, "filters 0 of more than all bins: 9; expected at most 8"),
        ({"layers": [FIRST, (2, 1, 1, weights(32, 5))]}, "filters 1 of more than all maxima: 4; expected at most 3"),
        (
            {"layers": [FIRST, (2, 1, 3, weights(16, 5))]},
            "filters 1: maxima over more than all positions: 3; expected at most 2",
        ),
        ({"layers": [FIRST, (2, 1, 1, without_a_bias(16, 5))]}, r"filters 1: \[16, 5\]; expected \[16, 4\]"),
        ({"projection": weights(11, 7)}, r"weight of the projection: \[11, 7\]; expected \[10, 7\]"),
        ({"projection": without_a_bias(10, 7)}, r"weight of the projection: \[10, 7\]; expected \[10, 6\]"),
        ({"projection": weights(10, 0)}, "projection to nothing"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_by_name(kernels, changed, message):
    good = {"bins": 48, "frames": 6, "layers": [FIRST, SECOND], "projection": weights(10, 7)}
    kernels.Convolution2d(**good)
    with pytest.raises(ValueError, match=f"^Convolution2d: {message}"):
        kernels.Convolution2d(**good | changed)


def test_numbers_below_zero_are_no_sizes(kernels):
    with pytest.raises(TypeError):
        kernels.Convolution2d(48, 6, [(3, -1, 2, weights(6, 4))], weights(24, 7))


def test_a_stack_of_other_bins_is_refused(kernels):
    with pytest.raises(ValueError, match="the convolution is of vectors of other bins"):
        Unit(kernels, DEEP.compiled(kernels), 241, DEEP.size)
