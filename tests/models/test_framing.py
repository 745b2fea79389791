import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.models.framing import Framing
from sonorant.models.section import ConvLstmCtcRecipe, MochaRecipe


def test_by_default_each_vector_is_a_frame():
    assert [Framing().frames(n) for n in (0, 1, 7)] == [0, 1, 7]
    np.testing.assert_array_equal(Framing().vectors(3), [0, 1, 2])


@pytest.mark.parametrize("width", range(1, 10))
@pytest.mark.parametrize("stride", range(1, 6))
def test_frames_of_a_convolution_are_its_whole_windows(width, stride):
    framing = ConvLstmCtcRecipe(family="conv_lstm_ctc", width_vectors=width, stride=stride).framing
    for vectors in range(30):
        windows = [t for t in range(0, vectors, stride) if t + width <= vectors]
        assert framing.frames(vectors) == len(windows)
        np.testing.assert_array_equal(framing.vectors(len(windows)), np.array(windows, int) + width - 1)
        for j, start in enumerate(windows):  # a frame is complete with a block that holds its window's end
            assert start + width <= (j + framing.lead + 1) * framing.block


def test_a_delay_leaves_each_frame_its_own_vector():
    framing = Framing(lead=5, tail=5)
    assert [framing.frames(n) for n in (0, 1, 9)] == [0, 1, 9]
    np.testing.assert_array_equal(framing.vectors(3), [0, 1, 2])


FRAMINGS = st.builds(Framing, st.integers(1, 5), st.integers(0, 6), st.integers(0, 9), st.integers(1, 4))


@given(FRAMINGS, st.integers(0, 60))
def test_padding_ends_the_first_step_that_has_an_utterance_s_last_frame(framing, vectors):
    behind, frames = framing.padding_after(vectors), framing.frames(vectors)

    def frames_after(steps):
        return steps * framing.at_once - framing.lead

    steps = (vectors + behind) // framing.step
    assert frames_after(steps) >= frames or not frames
    if behind:
        assert framing.padded
        assert (vectors + behind) % framing.step == 0
        assert frames_after(steps - 1) < frames


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 5), st.integers(0, 60))
def test_frames_that_look_ahead_are_as_many_and_stand_for_the_same_vectors(block, layers, chunk, vectors):
    section = {"family": "mocha", "layers": layers, "pooling": [block]}
    heard, ahead = (MochaRecipe.model_validate(section | {"look_ahead": n}).framing for n in (0, chunk))
    frames = ahead.frames(vectors)
    assert frames == heard.frames(vectors) == -(-vectors // block)
    np.testing.assert_array_equal(ahead.vectors(frames), heard.vectors(frames))
    assert ahead.step == block * chunk
    assert ahead.vectors_for(chunk) == ahead.vectors_for(1) == (layers + 1) * ahead.step
