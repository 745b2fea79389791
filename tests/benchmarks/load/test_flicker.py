import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.load.flicker import Flicker


def counted(*results):
    flicker = Flicker()
    for number, text in enumerate(results):
        flicker.result(text, is_final=number == len(results) - 1)
    return flicker.shown, flicker.changed


@pytest.mark.parametrize(
    ("results", "shown", "changed"),
    [
        (("one", "one two", "one two"), 2, 0),
        (("one", "one too", "one two"), 2, 1),
        (("won", "one two", "one two"), 3, 1),
        (("one two three", "one four three", "one four three"), 5, 2),  # what stands behind a change moves with it
        (("one two", "one"), 2, 1),
        (("one",), 0, 0),  # final at once: never shown before
    ],
)
def test_words_that_later_results_take_back_count_as_changed(results, shown, changed):
    assert counted(*results) == (shown, changed)


def test_an_utterance_does_not_take_back_the_one_before():
    flicker = Flicker()
    flicker.result("one", is_final=False)
    flicker.result("one", is_final=True)
    flicker.result("two", is_final=False)
    assert (flicker.shown, flicker.changed) == (2, 0)


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4).map(" ".join), min_size=1, max_size=6))
def test_never_more_changes_than_was_shown(results):
    shown, changed = counted(*results)
    assert 0 <= changed <= shown
