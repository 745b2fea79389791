import numpy as np
import pytest
from rigs.clipped_recurrence import by_definition, draw, passes

from sonorant.models.graph_clipped_recurrence import graph_clipped_recurrence


@pytest.mark.parametrize(("frames", "lengths"), [(1, [1, 1]), (12, [12, 7, 1, 0])])
def test_outputs_and_gradients_are_those_frame_by_frame(frames, lengths):
    given = draw(3, lengths, frames, cells=5)
    ours, expected = (passes(form, *given, 1.5) for form in (graph_clipped_recurrence, by_definition))
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4, rtol=1e-5)
    assert not np.allclose(expected[0], by_definition(*given, 1e9))  # the ceiling is reached
