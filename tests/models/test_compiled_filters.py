"""The compiled filters, as this processor runs them and as any does, beside TensorFlow's form of the same layer."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.kernel_variants import VARIANTS, calling

from sonorant.models import compiled_filters
from sonorant.models.computation import set_computation
from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.pooled_filters import PooledFilters, Windows
from sonorant.models.registry import build_model
from sonorant.models.section import LstmCtcRecipe
from sonorant.tensorflow import tf

small = st.integers(1, 4)


@pytest.fixture(scope="module", params=VARIANTS)
def kernels(request):
    with calling(compiled_filters, request.param) as compiled:
        yield compiled


def draw(seed, windows, channels, filters, rows, more=(0, 0)):
    """Return a layer with random weights, and maps with so many frames and bins more than its windows need."""
    rng = np.random.default_rng(seed)
    layer = PooledFilters(windows, channels, filters, seed, "filters")
    layer.bias.assign(rng.normal(size=filters))
    frames = windows.frames + windows.stride_frames * int(rng.integers(0, 3)) + more[0]
    bins = windows.pool * windows.maxima + windows.bins - 1 + more[1]
    return layer, tf.constant(rng.normal(size=(frames, bins, rows, channels)), tf.float32)


def outcomes(layer, maps, compiled, seed=0):
    """Return maxima and moments, and the gradients of all operands for random ones of these."""
    rng = np.random.default_rng(seed)
    layer.compiled = compiled
    kernel, bias, centre = (
        layer.kernel.value,
        layer.bias.value,
        tf.constant(rng.normal(size=layer.bias.shape), tf.float32),
    )
    with tf.GradientTape() as tape:
        tape.watch(maps)
        made = layer.by_with_moments(maps, tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias), centre)
        loss = tf.add_n([tf.reduce_sum(one * rng.normal(size=one.shape).astype(np.float32)) for one in made])
    return [*made, *tape.gradient(loss, [maps, kernel, bias])]


@given(
    seed=st.integers(0, 999), rows=st.integers(1, 60), channels=st.integers(1, 18), filters=st.integers(1, 40),
    frames=small, bins=small, stride=small, pool=small, count=small, more=st.tuples(small, small),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_values_moments_and_gradients_are_those_of_tensorflows_form(
    kernels, seed, rows, channels, filters, frames, bins, stride, pool, count, more
):
    layer, maps = draw(seed, Windows(frames, bins, stride, pool, count), channels, filters, rows, more)
    for one, other in zip(outcomes(layer, maps, True), outcomes(layer, maps, False), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=2e-3, rtol=2e-4)


@pytest.mark.parametrize("rows", [1, 23, 100, 4000])
def test_a_vector_has_the_same_bits_alone_and_in_company_and_with_any_threads(kernels, monkeypatch, rows):
    layer, maps = draw(1, Windows(2, 3, 1, 2, 3), 5, 20, rows)
    found, gradients = [], []
    for threads in (1, 2, 5):
        monkeypatch.setattr(compiled_filters, "kernel_threads", lambda threads=threads: threads)
        made = outcomes(layer, maps, True)
        found.append(made[0])
        gradients.append(made[1:])
    for other in gradients[1:]:
        for one, same in zip(gradients[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    for one in found[1:]:
        np.testing.assert_array_equal(found[0], one)
    last = outcomes(layer, maps[:, :, -1:], True)[0]
    np.testing.assert_array_equal(found[0][:, :, -1:], last)


def test_of_equal_products_the_first_has_the_whole_gradient(kernels):
    layer = PooledFilters(Windows(1, 2, 1, 2, 2), 1, 1, 0, "filters")
    layer.kernel.assign(tf.ones((2, 1)))
    layer.compiled = True
    maps = tf.ones((1, 5, 1, 1))
    with tf.GradientTape() as tape:
        tape.watch(maps)
        found = layer(maps)
    of_maps, of_kernel = tape.gradient(found, [maps, layer.kernel.value])
    np.testing.assert_array_equal(of_maps[0, :, 0, 0], [1, 1, 1, 1, 0])  # windows 0 and 2, of two bins each
    np.testing.assert_array_equal(of_kernel, [[2], [2]])


@pytest.mark.parametrize("bin", range(4))
def test_what_is_no_number_stays(kernels, bin):
    layer, maps = draw(4, Windows(1, 1, 1, 4, 1), 1, 3, 2)
    broken = maps.numpy()
    broken[0, bin, 1] = np.nan
    layer.compiled = True
    found = layer(tf.constant(broken)).numpy()
    assert np.isnan(found[0, 0, 1]).all()
    assert np.isfinite(found[0, 0, 0]).all()


def test_a_graph_knows_its_shapes_and_takes_any_number_of_vectors():
    layer, _ = draw(2, Windows(2, 3, 2, 2, 3), 1, 4, 1)
    layer.compiled = True

    @tf.function
    def step(maps):
        with tf.GradientTape() as tape:
            tape.watch(maps)
            found = layer(maps)
        return found, *tape.gradient(found, [maps, layer.kernel.value, layer.bias.value])

    graph = step.get_concrete_function(tf.TensorSpec([5, 9, None, 1]))
    shapes = [one.shape.as_list() for one in graph.structured_outputs]
    assert shapes == [[2, 3, None, 4], [5, 9, None, 1], [6, 4], [4]]
    for rows in (0, 1, 50):
        found, *gradients = graph(tf.ones((5, 9, rows, 1)))
        assert found.shape == (2, 3, rows, 4)
        assert np.isfinite(np.concatenate([np.ravel(one) for one in gradients])).all()


REFUSED = {
    "kernel": ((1, 1, 3, 4), r"kernel: expected \[width_bins, width_frames, channels, filters\]"),
    "bias": ((5,), r"bias, centre: expected \[filters\]"),
    "centre": ((5,), r"bias, centre: expected \[filters\]"),
    "maps": ((2, 3, 7, 2), "maps: expected bins for all windows"),
    "moments": ((2, 5), r"moments: expected \[2, filters\]"),
    "argmax": ((2, 2, 6, 4), r"argmax: expected \[frames, maxima, N, filters\]"),
    "found": ((2, 2, 7, 5), r"found: expected \[frames, maxima, N, filters\]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arrays_that_do_not_fit_are_refused_by_name(kernels, name):
    shapes = {"maps": (2, 4, 7, 2), "kernel": (1, 1, 2, 4), "bias": (4,), "centre": (4,)}
    made = {"found": (2, 2, 7, 4), "argmax": (2, 2, 7, 4), "moments": (2, 4)}
    shape, message = REFUSED[name]
    arrays = {key: np.zeros(shape if key == name else own, np.uint8 if key == "argmax" else np.float32)
              for key, own in {**shapes, **made}.items()}  # fmt: skip
    with pytest.raises(ValueError, match=message):
        kernels.filters_forward(**arrays, stride_frames=1, pool=2, threads=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pool": 0}, "pool: expected 1 to 255"),
        ({"stride_frames": 0}, "stride_frames: expected 1 or more"),
        ({"stride_frames": 2**63}, "maps: expected frames for all windows"),
        ({"stride_frames": 2}, "maps: expected frames for all windows"),
        ({"kernel": np.zeros((0, 1, 2, 4), np.float32)}, "kernel: expected a bin and a frame, or more"),
        ({"kernel": np.zeros((1, 3, 2, 4), np.float32)}, "maps: expected frames for all windows"),
    ],
)
def test_windows_that_do_not_fit_are_refused_by_name(kernels, settings, message):
    given = {"maps": (2, 4, 7, 2), "kernel": (1, 1, 2, 4), "bias": (4,), "centre": (4,), "found": (2, 2, 7, 4),
             "moments": (2, 4)}  # fmt: skip
    arrays = {name: np.zeros(shape, np.float32) for name, shape in given.items()}
    arrays["argmax"] = np.zeros((2, 2, 7, 4), np.uint8)
    with pytest.raises(ValueError, match=message):
        kernels.filters_forward(**{**arrays, "stride_frames": 1, "pool": 2, "threads": 1, **settings})


BACK = {
    "d_found": ((2, 2, 7, 5), r"d_found: expected \[frames, maxima, N, filters\]"),
    "d_moments": ((3, 4), r"d_moments: expected \[2, filters\]"),
    "found": ((2, 2, 6, 4), r"found: expected \[frames, maxima, N, filters\]"),
    "argmax": ((2, 2, 7, 3), r"argmax: expected \[frames, maxima, N, filters\]"),
    "centre": ((5,), r"centre: expected \[filters\]"),
}


@pytest.mark.parametrize("name", BACK)
@pytest.mark.parametrize("of", ["kernel", "maps"])
def test_gradients_that_do_not_fit_are_refused_by_name(kernels, of, name):
    shapes = {"d_found": (2, 2, 7, 4), "d_moments": (2, 4), "found": (2, 2, 7, 4), "argmax": (2, 2, 7, 4),
              "centre": (4,), "maps": (2, 4, 7, 2), "kernel": (1, 1, 2, 4)}  # fmt: skip
    arrays = {key: np.zeros(shape, np.uint8 if key == "argmax" else np.float32)
              for key, shape in {**shapes, name: BACK[name][0]}.items()}  # fmt: skip
    made = {"d_kernel": arrays.pop("kernel"), "d_bias": np.zeros(4, np.float32)} if of == "kernel" else {
        "d_maps": arrays.pop("maps")}  # fmt: skip
    with pytest.raises(ValueError, match=BACK[name][1]):
        getattr(kernels, f"filters_{of}_gradient")(**arrays, **made, stride_frames=1, pool=2, threads=1)


def test_weights_of_which_few_parts_have_room_are_summed_up_alike_by_any_threads(monkeypatch):
    layer, maps = draw(6, Windows(3, 3, 1, 1, 1), 320, 320, 100)
    found = []
    for threads in (1, 4):
        monkeypatch.setattr(compiled_filters, "kernel_threads", lambda threads=threads: threads)
        found.append(outcomes(layer, maps, True))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(found[0], outcomes(layer, maps, False), strict=True):
        np.testing.assert_allclose(one, other, atol=5e-3, rtol=1e-3)


@pytest.mark.parametrize(("devices", "compiled"), [([], True), ([SimpleNamespace(device_type="GPU")], False)])
def test_on_a_cpu_a_training_has_it(devices, compiled):
    section = LstmCtcRecipe(cells=6, convolution_2d=Convolution2dRecipe(frames=16, size=4))
    model = build_model(section, 16 * 40, units=4, seed=0)
    set_computation(model, devices=devices)
    assert [layer.compiled for layer in model.convolution.convolutions] == [compiled] * 3


@pytest.mark.parametrize(("precision", "calls"), [("float32", 1), ("mixed_bfloat16", 0)])
def test_a_layer_has_its_kernel_and_in_half_precision_tensorflows_form(monkeypatch, precision, calls):
    layer, maps = draw(3, Windows(1, 2, 1, 2, 2), 3, 4, 5)
    called, forward = [], compiled_filters.filters_forward
    monkeypatch.setattr(compiled_filters, "filters_forward", lambda *given: called.append(forward(*given)))
    layer.dtype_policy = precision
    by_tensorflow = layer(maps)
    layer.compiled = True
    np.testing.assert_allclose(layer(maps), by_tensorflow, atol=1e-5)
    assert len(called) == calls
