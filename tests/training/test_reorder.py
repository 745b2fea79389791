from hypothesis import given
from hypothesis import strategies as st

from sonorant.training.reorder import ReorderBuffer


@given(st.permutations(range(12)), st.sets(st.integers(0, 11)), st.data())
def test_what_comes_in_any_order_leaves_in_the_given_one_without_what_is_skipped(order, skipped, data):
    buffer, left = ReorderBuffer(order), []
    events = data.draw(st.permutations([*range(12), *(("skip", o) for o in skipped)]))
    for event in events:
        if isinstance(event, tuple):
            buffer.skip([event[1]])
        else:
            buffer.add(event, str(event))
        while (item := buffer.pop()) is not None:
            left.append(int(item))
    assert [o for o in left if o not in skipped] == [o for o in order if o not in skipped]
    assert left == [o for o in order if o in left]
    assert buffer.over
    assert len(buffer) == 0


def test_what_is_missing_is_named_only_if_the_next_one_is():
    buffer = ReorderBuffer([3, 1, 2, 0])
    buffer.add(1, "b")
    assert buffer.missing(3) == [3, 2]
    buffer.add(3, "a")
    assert buffer.missing(3) == []


def test_one_that_was_skipped_and_comes_all_the_same_is_dropped():
    buffer = ReorderBuffer([0, 1])
    buffer.skip([0])
    buffer.add(0, "late")
    assert len(buffer) == 0
    assert buffer.missing(2) == [1]
