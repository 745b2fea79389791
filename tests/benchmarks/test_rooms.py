import numpy as np
import pytest

from benchmarks import rooms


@pytest.mark.parametrize("seed", [4, 5])
def test_a_room_is_as_near_as_the_rows_say(seed):
    correlation, error, t60_error, drr_error = rooms.compare(seed)
    assert (correlation > 0.9999).all()
    assert np.median(error) < 0.005
    assert np.median(t60_error) < 0.002
    assert np.median(drr_error) < 0.02


def test_another_room_is_told_apart(monkeypatch):
    ours = rooms.image_responses
    monkeypatch.setattr(rooms, "image_responses", lambda room, *rest: ours(1.02 * room, *rest))
    correlation, error, _, _ = rooms.compare(4)
    assert np.median(correlation) < 0.999
    assert np.median(error) > 0.05
