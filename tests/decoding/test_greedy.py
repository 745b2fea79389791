import numpy as np

from sonorant.decoding import best_path


def one_hot(*units, size=4):
    return np.log(np.eye(size)[list(units)] * 0.9 + 0.01)


def test_repeats_merge_and_blanks_part_them():
    assert best_path(one_hot(3, 0, 0, 3, 0, 1, 1, 3)) == [0, 0, 1]


def test_all_blank_is_empty():
    assert best_path(one_hot(3, 3)) == []


def test_no_frames_are_empty():
    assert best_path(np.zeros((0, 4))) == []
