from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.decoding.frames_in_order import in_order


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [
        ((), []),
        ((7,), [7]),
        ((5, 8, 8, 9, 13), [5, 8, 8, 9, 13]),
        ((5, 25, 46, 27, 35, 53, 37), [5, 25, 26, 27, 35, 36, 37]),  # 46 and 53 are astray
        ((43, 3, 5, 9, 1), [3, 3, 5, 9, 9]),
    ],
)
def test_peaks_astray_come_between_their_neighbours(peaks, expected):
    assert in_order(peaks) == expected


@given(st.lists(st.integers(0, 9), max_size=9))
def test_frames_are_in_order_and_as_many_as_can_be_are_peaks(peaks):
    found = in_order(peaks)
    assert len(found) == len(peaks)
    assert found == sorted(found)
    longest = next(
        (n for n in range(len(peaks), 0, -1) if any(list(c) == sorted(c) for c in combinations(peaks, n))), 0
    )
    assert sum(one == peak for one, peak in zip(found, peaks, strict=True)) >= longest
    assert all(min(peaks) <= frame <= max(peaks) for frame in found)
