import numpy as np
import pytest

from sonorant.models.framing import Framing
from sonorant.models.section import ConvLstmCtcRecipe


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
