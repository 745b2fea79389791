"""Each compiled kernel, as this processor runs it and as any does, beside the same in NumPy, plainly as defined."""

import importlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

RNG = np.random.default_rng


@pytest.fixture(scope="module", params=["kernels", "kernels_portable"])
def kernels(request):
    return importlib.import_module(f"sonorant.audio.{request.param}")


def complex_noise(frames, bins, seed):
    values = RNG(seed).standard_normal((2, frames, bins), dtype=np.float32)
    return (values[0] + 1j * values[1]).astype(np.complex64)


def spread(axes, reach, grid):
    """Images one by one, at full precision."""
    (x2, xg), (y2, yg), (z2, zg) = axes
    square = x2[:, None, None] + y2[:, None] + z2.astype(float)
    gain = xg[:, None, None] * yg[:, None] * zg.astype(float)
    heard = square <= reach**2
    delay = np.sqrt(square[heard])
    for d, g in zip(delay, gain[heard] / delay, strict=True):
        f = d - int(d)
        weights = np.array([(1 - f) ** 3, 4 - 6 * f**2 + 3 * f**3, 1 + 3 * f + 3 * f**2 - 3 * f**3, f**3]) / 6
        grid[int(d) : int(d) + 4] += g * weights


def move_peaks(spectra, rise, slope, rotations_per_bin, last_rotations):
    """Frame by frame and peak by peak; returns what is moved and each bin's rotation in the last frame."""
    bins = spectra.shape[1]
    moved = np.zeros(spectra.shape, complex)
    for frame, out in zip(spectra.astype(complex), moved, strict=True):
        magnitude = np.abs(frame)
        power = np.concatenate([[-1, -1], frame.real**2 + frame.imag**2, [-1, -1]])
        tops = [
            k for k in range(bins) if power[k + 2] > power[k : k + 2].max() and power[k + 2] >= power[k + 3 :][:2].max()
        ]
        factors, rotations, steps = [], [], []
        for k in tops:
            b, t, a = magnitude[k - 1 : k + 2] if 0 < k < bins - 1 else (0, magnitude[k], 0)
            risen = rise[k] + slope[k] * np.clip(2 * (a - b) / (a + b + 2 * t + 1e-30), -0.5, 0.5)
            step = round(float(risen))
            rest = risen - step
            rotation = (last_rotations[k] + risen * rotations_per_bin + 0.5) % 1 - 0.5
            steps.append(step)
            rotations.append(rotation)
            gain = (1 - rest**2) * (1 - rest**2 / 4) / np.sinc(rest)
            factors.append(gain * np.exp(2j * np.pi * (rotation - step / 2)))
        edges = [0, *((a + b + 1) // 2 for a, b in pairwise(tops)), bins]
        to_edges = [0]
        for edge, (left, right), (a, b) in zip(edges[1:], pairwise(tops), pairwise(steps), strict=False):
            if power[left + 2] > 100 * power[right + 2]:
                to_edges.append(min(edge + a, right + b))
            elif power[right + 2] > 100 * power[left + 2]:
                to_edges.append(max(edge + b, left + a + 1))
            else:
                to_edges.append((left + a + right + b + 1) // 2)
        to_edges.append(bins)
        last_rotations = np.repeat(rotations, np.diff(edges))
        for j, step in enumerate(steps):
            for k in range(edges[j], edges[j + 1]):
                if to_edges[j] <= k + step < to_edges[j + 1]:
                    out[k + step] = frame[k] * factors[j]
    return moved, last_rotations


def axis(images, reach, seed):
    squares = np.sort(RNG(seed).uniform(1, reach, images)) ** 2
    return squares.astype(np.float32), RNG(seed + 1).uniform(0.1, 1, images).astype(np.float32)


@pytest.mark.parametrize(
    ("counts", "reach"), [((3, 4, 5), 40.0), ((7, 9, 300), 900.5), ((1, 1, 1), 3.0), ((0, 2, 2), 9.0)]
)
def test_images_are_spread_as_one_by_one(kernels, counts, reach):
    axes = [axis(count, reach, 10 * i) for i, count in enumerate(counts)]
    grid = np.zeros(int(reach) + 5, np.float32)
    kernels.spread(*axes[0], *axes[1], *axes[2], reach, grid)
    expected = np.zeros(int(reach) + 5)
    spread(axes, reach, expected)
    np.testing.assert_allclose(grid, expected, atol=2e-5 * (np.abs(expected).max() + 1e-9))


def test_an_image_at_a_whole_number_of_points_has_the_splines_weights(kernels):
    grid = np.zeros(10, np.float32)
    one = np.ones(1, np.float32)
    kernels.spread(4 * one, one, 0 * one, one, 0 * one, 3 * one, 5.0, grid)
    np.testing.assert_allclose(grid[:6], [0, 0, 1 / 4, 1, 1 / 4, 0], atol=1e-7)


@given(st.integers(1, 60), st.floats(-3, 3), st.integers(0, 1000))
@settings(max_examples=80)
def test_peaks_move_as_one_by_one(kernels, bins, most, seed):
    spectra = complex_noise(4, bins, seed) * 10 ** RNG(seed).uniform(-3, 0, (4, bins)).astype(np.float32)
    rise = (most * np.sin(np.arange(bins) / bins * np.pi)).astype(np.float32)
    slope = np.gradient(rise).astype(np.float32) if bins > 1 else np.zeros(1, np.float32)
    rotations = RNG(seed).uniform(-0.5, 0.5, bins).astype(np.float32)
    expected, last = move_peaks(spectra, rise, slope, 0.25, rotations.astype(float))
    moved = np.full_like(spectra, np.nan)
    kernels.move_peaks(spectra, rise, slope, 0.25, rotations, moved)
    np.testing.assert_allclose(moved, expected, atol=1e-4)
    np.testing.assert_allclose(np.exp(2j * np.pi * rotations), np.exp(2j * np.pi * last), atol=1e-4)


@pytest.mark.parametrize("shape", [(0, 5), (2, 0), (1, 1), (3, 700)])
def test_rows_are_filtered_from_rest(kernels, shape):
    values = RNG(0).standard_normal(shape, dtype=np.float32)
    expected = lfilter((1, -1.9, 0.93), (1, -1.8, 0.9), values.astype(float), axis=-1) if values.size else values.copy()
    kernels.biquad(values, 1, -1.9, 0.93, -1.8, 0.9)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)


def test_frames_are_cut_under_the_window(kernels):
    samples, window = RNG(0).standard_normal(40, dtype=np.float32), np.hanning(13).astype(np.float32)
    frames = np.full((5, 16), 7, np.float32)
    kernels.cut_frames(samples, 6, window, frames)
    np.testing.assert_array_equal(frames[:, :13], [samples[i : i + 13] * window for i in range(0, 30, 6)])
    assert (frames[:, 13:] == 7).all()


def test_frames_are_added_where_they_began(kernels):
    frames, window = RNG(0).standard_normal((5, 16), dtype=np.float32), np.hanning(12).astype(np.float32)
    total = np.zeros(4 * 3 + 12, np.float32)
    kernels.overlap_add(frames, window, 3, total)
    expected = np.zeros(24)
    for i, frame in enumerate(frames[:, :12]):
        expected[3 * i : 3 * i + 12] += frame * window
    np.testing.assert_allclose(total, expected, atol=1e-6)


@pytest.mark.parametrize("samples", [0, 1, 7, 8, 1001])
def test_energy_is_the_sum_of_squares(kernels, samples):
    values = RNG(samples).standard_normal(samples, dtype=np.float32)
    assert kernels.energy(values) == pytest.approx((values.astype(float) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("loudest", [0, 13, 30])
def test_scaled_sums_and_their_peak(kernels, loudest):
    speech, noise = RNG(0).standard_normal((2, 2, 31), dtype=np.float32)
    speech[1, loudest] = -50
    scaled, total = (speech * np.float32(0.3), noise * np.float32(2)), np.empty_like(speech)
    peak = kernels.add_scaled(speech, noise, 0.3, 2.0, total)
    np.testing.assert_array_equal((speech, noise), scaled)
    np.testing.assert_array_equal(total, scaled[0] + scaled[1])
    assert peak == np.abs(total).max()


@pytest.mark.parametrize("frames", [0, 1, 7, 8, 21])
def test_filters_are_dot_products_with_the_power(kernels, frames):
    spectra = complex_noise(24, 33, frames)
    filters = np.zeros((4, 33), np.float32)
    first, offset = np.array([0, 5, 9, 30], np.int32), np.array([0, 1, 1, 4, 5], np.int32)
    weight = RNG(1).uniform(0, 1, (5, 8)).astype(np.float32)
    weight[4, 3:] = 0
    for row, start, low, high in zip(filters, first, offset[:-1], offset[1:], strict=True):
        row[start : start + 8 * (high - low)] = weight[low:high].ravel()[: 33 - start]
    energies = np.full((frames, 4), np.nan, np.float32)
    kernels.filter_power(spectra, first, offset, weight, energies)
    expected = (np.abs(spectra[:frames].astype(complex)) ** 2) @ filters.T
    np.testing.assert_allclose(energies, expected, rtol=1e-5)


@pytest.mark.parametrize("exponent", [1 / 15, 0.1, 0.33, 1.0])
def test_powers_keep_six_digits(kernels, exponent):
    values = np.concatenate([np.geomspace(1.2e-38, 1e38, 20000), np.linspace(0.9, 1.1, 1001)]).astype(np.float32)
    raised = values.reshape(1, -1).copy()
    kernels.power_law(raised, exponent)
    np.testing.assert_allclose(raised[0], values.astype(float) ** exponent, rtol=3e-7 + 1e-5 * exponent)


def test_a_power_does_not_depend_on_how_many_there_are(kernels):
    values = RNG(0).uniform(0, 10, (1, 67)).astype(np.float32)
    parts = [values[:, i : i + size].copy() for i, size in ((0, 1), (1, 2), (3, 5), (8, 9), (17, 50))]
    for array in (values, *parts):
        kernels.power_law(array, 1 / 15)
    assert np.hstack(parts).tobytes() == values.tobytes()


def test_powers_of_nothing_are_nothing(kernels):
    values = np.array([[0, 1e-40, 1]], np.float32)
    kernels.power_law(values, 1 / 15)
    np.testing.assert_array_equal(values, [[0, 0, 1]])


def test_sizes_that_do_not_fit_are_refused(kernels):
    floats, spectra = np.zeros(3, np.float32), complex_noise(2, 3, 0)
    with pytest.raises(ValueError, match=r"grid must have reach \+ 5 points"):
        kernels.spread(floats, floats, floats, floats, floats, floats, 10.0, np.zeros(14, np.float32))
    with pytest.raises(ValueError, match="a value for each bin"):
        kernels.move_peaks(spectra, floats, floats[:2], 0.25, floats, spectra.copy())
    with pytest.raises(ValueError, match="too few samples"):
        kernels.cut_frames(floats, 1, floats[:2], np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match="too short for all frames"):
        kernels.overlap_add(np.zeros((2, 3), np.float32), floats, 1, floats)
    with pytest.raises(ValueError, match="a frame must hold the window"):
        kernels.overlap_add(np.zeros((2, 2), np.float32), floats, 1, floats)
    starts, offsets = np.array([3], np.int32), np.array([0, 1], np.int32)
    with pytest.raises(ValueError, match="beyond the spectrum"):
        kernels.filter_power(spectra, starts, offsets, np.zeros((1, 8), np.float32), np.zeros((2, 1), np.float32))


def test_arrays_of_another_type_are_refused_not_copied(kernels):
    with pytest.raises(TypeError):
        kernels.power_law(np.ones((1, 3)), 0.5)


def test_the_portable_kernels_are_what_they_are_called():
    assert importlib.import_module("sonorant.audio.kernels_portable").VARIANT == "portable"
