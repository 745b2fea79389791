"""The compiled recurrence of clipped rectifiers, as this processor runs it and as any does, beside its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.clipped_recurrence import by_definition, draw, passes
from rigs.kernel_variants import VARIANTS, calling

from sonorant.models import compiled_clipped_recurrence as module
from sonorant.models.compiled_clipped_recurrence import compiled_clipped_recurrence
from sonorant.tensorflow import tf


@pytest.fixture(scope="module", params=VARIANTS)
def kernels(request):
    with calling(module, request.param) as compiled, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "aligned_array", lambda *shape: np.full(shape, np.nan, np.float32))
        yield compiled


@given(
    seed=st.integers(0, 99), frames=st.integers(1, 9), data=st.data(), cells=st.integers(1, 40),
    ceiling=st.sampled_from([0.5, 1.5, 20.0]),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_outputs_and_gradients_are_those_frame_by_frame(kernels, seed, frames, data, cells, ceiling):
    lengths = data.draw(st.lists(st.integers(0, frames), min_size=1, max_size=9))
    drawn = draw(seed, lengths, frames, cells)
    of_kernel, expected = (passes(form, *drawn, ceiling) for form in (compiled_clipped_recurrence, by_definition))
    for one, other in zip(of_kernel, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=2e-4)


def test_an_utterance_has_the_same_bits_alone_and_in_company_and_with_any_threads(kernels, monkeypatch):
    inputs, lengths, weight = draw(5, [9, 3, 7] * 7, 9, 30)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(module, "kernel_threads", lambda threads=threads: threads)
        found.append(passes(compiled_clipped_recurrence, inputs, lengths, weight, 20.0))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    outputs = compiled_clipped_recurrence(inputs, lengths, weight, 20.0)
    alone = compiled_clipped_recurrence(inputs[4:5, :3], lengths[4:5], weight, 20.0)
    np.testing.assert_array_equal(alone, outputs[4:5, :3])


def test_what_is_no_number_is_not_clipped_to_one(kernels):
    inputs, lengths, weight = draw(5, [4, 4], 4, 3)
    inputs = tf.tensor_scatter_nd_update(inputs, [[0, 1, 2]], [np.nan])
    outputs = np.asarray(compiled_clipped_recurrence(inputs, lengths, weight, 20.0))
    assert np.isnan(outputs[0, 1, 2])
    assert np.isfinite(outputs[1]).all()


def test_a_graph_knows_its_shapes_and_takes_any_number_of_frames_and_utterances():
    @tf.function
    def step(inputs, lengths, weight):
        with tf.GradientTape() as tape:
            tape.watch([inputs, weight])
            outputs = compiled_clipped_recurrence(inputs, lengths, weight, 20.0)
        return outputs, *tape.gradient(outputs, [inputs, weight])

    specs = [tf.TensorSpec([None, None, 4]), tf.TensorSpec([None], tf.int32), tf.TensorSpec([2, 4, 4])]
    graph = step.get_concrete_function(*specs)
    assert [one.shape.as_list() for one in graph.structured_outputs] == [[None, None, 4], [None, None, 4], [2, 4, 4]]
    for utterances, frames in ((1, 1), (30, 3), (0, 2), (2, 0)):
        inputs, lengths, weight = draw(0, [frames] * utterances, frames, 4)
        assert graph(inputs, lengths, weight)[0].shape == (utterances, frames, 4)


FORWARD = {"inputs": (3, 5, 4), "weight": (2, 4, 4), "states": (2, 3, 6, 4), "outputs": (3, 5, 4)}
BACKWARD = {
    "d_outputs": (3, 5, 4), "states": (2, 3, 6, 4), "weight": (2, 4, 4), "d_inputs": (3, 5, 4), "d_sums": (2, 3, 6, 4),
}  # fmt: skip
REFUSED = [
    ("clipped_forward", "inputs", (3, 5, 3), r"inputs: expected \[B, T, cells\]"),
    ("clipped_forward", "weight", (1, 4, 4), r"weight: expected \[2, cells, cells\]"),
    ("clipped_forward", "states", (2, 3, 5, 4), r"states: expected \[2, B, T \+ 1, cells\]"),
    ("clipped_forward", "outputs", (2, 5, 4), r"outputs: expected \[B, T, cells\]"),
    ("clipped_backward", "d_outputs", (3, 5, 3), r"d_outputs: expected \[B, T, cells\]"),
    ("clipped_backward", "states", (1, 3, 6, 4), r"states: expected \[2, B, T \+ 1, cells\]"),
    ("clipped_backward", "weight", (2, 3, 4), r"weight: expected \[2, cells, cells\]"),
    ("clipped_backward", "d_inputs", (3, 4, 4), r"d_inputs: expected \[B, T, cells\]"),
    ("clipped_backward", "d_sums", (2, 3, 5, 4), r"d_sums: expected \[2, B, T \+ 1, cells\]"),
]


@pytest.mark.parametrize(("name", "array", "shape", "said"), REFUSED)
def test_arrays_that_do_not_fit_are_refused_by_name(kernels, name, array, shape, said):
    shapes = FORWARD if name == "clipped_forward" else BACKWARD
    arrays = {key: np.zeros(own, np.float32) for key, own in {**shapes, array: shape}.items()}
    if name == "clipped_forward":
        arrays["lengths"] = np.full(3, 5, np.int32)
    with pytest.raises(ValueError, match=said):
        getattr(kernels, name)(**arrays, ceiling=20.0, threads=1)


@pytest.mark.parametrize(("lengths", "said"), [([5, 5], r"\[B\]"), ([5, 6, 5], "0 to T"), ([5, 5, -1], "0 to T")])
def test_lengths_that_do_not_fit_are_refused(kernels, lengths, said):
    arrays = {key: np.zeros(own, np.float32) for key, own in FORWARD.items()}
    with pytest.raises(ValueError, match=f"lengths: expected {said}"):
        kernels.clipped_forward(**arrays, lengths=np.array(lengths, np.int32), ceiling=20.0, threads=1)
