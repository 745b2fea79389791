"""Against plain sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonorant.delivery.bitmap import Bitmap

TOTAL = 19
SETS = st.sets(st.integers(0, TOTAL - 1))


def bitmap(ordinals):
    made = Bitmap(TOTAL)
    made.add(sorted(ordinals))
    return made


def members(found):
    return set(np.flatnonzero(found.flags()).tolist())


@given(SETS, SETS)
def test_it_is_a_set(one, other):
    assert members(bitmap(one) | bitmap(other)) == one | other
    assert members(bitmap(one) & bitmap(other)) == one & other
    assert members(bitmap(one).inverted()) == set(range(TOTAL)) - one
    assert bitmap(one).count() == len(one)
    assert bitmap(one).has(range(TOTAL)).tolist() == [o in one for o in range(TOTAL)]
    assert (bitmap(one) == bitmap(other)) == (one == other)


@given(SETS)
def test_packed_bits_come_back(ordinals):
    assert Bitmap(TOTAL, bitmap(ordinals).packed()) == bitmap(ordinals)


def test_bits_are_as_redis_has_them_and_absent_bytes_are_zero():
    assert bitmap({0, 9}).packed() == b"\x80\x40\x00"
    assert members(Bitmap(TOTAL, b"\x80")) == {0}


def test_one_that_is_added_twice_in_a_call_is_set_once():
    made = Bitmap(TOTAL)
    made.add([5, 5, 6])
    assert made.count() == 2
