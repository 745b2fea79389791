"""The compiled batch normalisation, as this processor runs it and as any does, beside its formulae in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.kernel_variants import VARIANTS, calling

from sonorant.models import compiled_batch_normalisation as module
from sonorant.models.compiled_batch_normalisation import compiled_batch_normalisation
from sonorant.tensorflow import tf

EPSILON = 0.1  # with less, two frames that are alike have gradients of few digits


@pytest.fixture(scope="module", params=VARIANTS)
def kernels(request):
    with calling(module, request.param) as compiled, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "aligned_array", lambda *shape: np.full(shape, np.nan, np.float32))
        yield compiled


def draw(seed, lengths, frames, channels):
    rng = np.random.default_rng(seed)
    values = rng.normal(4, 2, (len(lengths), frames, channels))
    present = (np.arange(frames) < np.array(lengths)[:, None])[..., None]
    centre, scale, offset = rng.normal(3, 1, (3, channels))
    drawn = (values, present, centre, scale, offset, rng.normal(size=values.shape))
    return [one.astype(np.float32) for one in drawn]


def passes(values, present, centre, scale, offset, d_normal):
    trained = [tf.constant(one) for one in (values, scale, offset)]
    with tf.GradientTape() as tape:
        tape.watch(trained)
        normal, sums = compiled_batch_normalisation(trained[0], present, centre, *trained[1:], EPSILON)
        loss = tf.reduce_sum(normal * d_normal)
    return [np.asarray(one) for one in (normal, sums, *tape.gradient(loss, trained))]


def by_definition(values, present, *others):
    with tf.GradientTape() as tape:
        values, centre, scale, offset, d_normal = (tf.constant(one, tf.float64) for one in (values, *others))
        tape.watch([values, scale, offset])
        frames = tf.boolean_mask(values, present[..., 0] > 0)
        mean, variance = tf.nn.moments(frames, 0) if len(frames) else (centre, tf.zeros_like(centre))
        normal = scale * (values - mean) / tf.sqrt(variance + EPSILON) + offset
        loss = tf.reduce_sum(normal * d_normal)
    about = frames - centre
    sums = tf.stack([tf.reduce_sum(about, 0), tf.reduce_sum(about**2, 0)])
    return [np.asarray(one) for one in (normal, sums, *tape.gradient(loss, [values, scale, offset]))]


@given(seed=st.integers(0, 99), frames=st.integers(1, 90), data=st.data(), channels=st.integers(1, 150))
@settings(max_examples=30, deadline=None)
def test_values_sums_and_gradients_are_those_of_the_frames_that_are_there(kernels, seed, frames, data, channels):
    lengths = data.draw(st.lists(st.integers(0, frames), min_size=1, max_size=5))
    drawn = draw(seed, lengths, frames, channels)
    for one, other in zip(passes(*drawn), by_definition(*drawn), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=1e-4 * max(1, np.abs(other).max(initial=0)))


def test_bits_are_the_same_with_any_threads(kernels, monkeypatch):
    drawn = draw(5, [9, 3, 70] * 7, 70, 250)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(module, "kernel_threads", lambda threads=threads: threads)
        found.append(passes(*drawn))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_padding_that_is_no_number_is_in_no_moment(kernels):
    values, present, *trained, _ = draw(5, [4, 2], 4, 3)
    _, there = compiled_batch_normalisation(values, present, *trained, EPSILON)
    values[1, 2:] = np.nan
    normal, sums = compiled_batch_normalisation(values, present, *trained, EPSILON)
    np.testing.assert_array_equal(sums, there)
    assert np.isfinite(normal[1, :2]).all()


def test_sums_of_many_frames_keep_their_digits(kernels):
    drawn = draw(5, [50_000], 50_000, 2)
    drawn[2][:] = 4
    _, sums, _, d_scale, d_offset = passes(*drawn)
    _, expected, _, *d_expected = by_definition(*drawn)
    np.testing.assert_allclose(sums, expected, rtol=2e-6, atol=1e-3)
    np.testing.assert_allclose([d_scale, d_offset], d_expected, rtol=1e-5, atol=1e-3)


def test_a_graph_knows_its_shapes_and_takes_any_number_of_frames_and_utterances():
    @tf.function
    def step(values, present, centre, scale, offset):
        with tf.GradientTape() as tape:
            tape.watch([values, scale, offset])
            normal, sums = compiled_batch_normalisation(values, present, centre, scale, offset, EPSILON)
        return normal, sums, *tape.gradient(normal, [values, scale, offset])

    channels = [tf.TensorSpec([3])] * 3
    graph = step.get_concrete_function(tf.TensorSpec([None, None, 3]), tf.TensorSpec([None, None, 1]), *channels)
    shapes = [one.shape.as_list() for one in graph.structured_outputs]
    assert shapes == [[None, None, 3], [2, 3], [None, None, 3], [3], [3]]
    for utterances, frames in ((1, 1), (30, 3), (0, 2), (2, 0)):
        *given, _ = draw(0, [frames] * utterances, frames, 3)
        assert graph(*map(tf.constant, given))[0].shape == (utterances, frames, 3)


FORWARD = {
    "values": (5, 4), "present": (5,), "centre": (4,), "scale": (4,), "offset": (4,), "normal": (5, 4),
    "sums": (2, 4), "moments": (2, 4),
}  # fmt: skip
WEIGHTS = {"d_normal": (5, 4), "values": (5, 4), "moments": (2, 4), "d_scale": (4,), "d_offset": (4,)}
VALUES = {
    "d_normal": (5, 4), "values": (5, 4), "present": (5,), "moments": (2, 4), "scale": (4,), "d_scale": (4,),
    "d_offset": (4,), "d_values": (5, 4),
}  # fmt: skip
KERNELS = {
    "normalise_forward": FORWARD, "normalise_weights_gradient": WEIGHTS, "normalise_values_gradient": VALUES,
}  # fmt: skip
REFUSED = [(kernel, name) for kernel, shapes in KERNELS.items() for name in shapes if name != "values"]
EXPECTED = {(5, 4): r"\[N, channels\]", (2, 4): r"\[2, channels\]", (4,): r"\[channels\]", (5,): r"\[N\]"}


@pytest.mark.parametrize(("kernel", "name"), REFUSED)
def test_arrays_that_do_not_fit_are_refused_by_name(kernels, kernel, name):
    shapes = KERNELS[kernel]
    wrong = (*shapes[name][:-1], shapes[name][-1] + 1)
    arrays = {key: np.zeros(own, np.float32) for key, own in {**shapes, name: wrong}.items()}
    options = {"epsilon": EPSILON} if kernel == "normalise_forward" else {}
    with pytest.raises(ValueError, match=f"{name}: expected {EXPECTED[shapes[name]]}"):
        getattr(kernels, kernel)(**arrays, **options, threads=1)
