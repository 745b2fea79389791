from hypothesis import given
from hypothesis import strategies as st

from services.autoscaler.news import News


def new(*messages):
    news = News()
    return [news.is_new("held", message) for message in messages]


def test_what_stays_the_same_is_told_once_and_again_when_it_comes_back():
    assert new("no measurements", "no measurements", "", "", "no measurements") == [True, False, True, False, True]


def test_figures_that_waver_are_nothing_new_and_those_that_move_are():
    said = "room: 13 replicas are needed; they hand on {} of 1,200 examples/s"
    assert new(*(said.format(rate) for rate in (98, 101.5, 95, 89, 80))) == [True, False, False, False, True]


def test_a_slow_drift_is_told():
    assert sum(new(*(f"{100 * 1.02**n:.0f} examples/s" for n in range(60)))) > 8


def test_other_words_are_new_whatever_their_figures():
    assert new("room: 13 replicas", "vtlp: 13 replicas", "room: 13 replicas, 2 more") == [True, True, True]


def test_an_error_about_another_object_is_the_same_error():
    assert new("<Connection object at 0x7fb6e0c6f550>: refused", "<Connection object at 0x7f15a>: refused") == [
        True,
        False,
    ]


def test_kinds_are_told_apart():
    news = News()
    assert [news.is_new(kind, "no") for kind in ("held", "saturated", "held")] == [True, True, False]


@given(st.text(), st.text())
def test_no_message_is_new_twice_in_a_row(one, other):
    assert new(one, other, other)[2] is False
