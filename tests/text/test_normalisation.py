import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.text.normalisation import normalise
from sonorant.text.section import TextRecipe

STRIP = TextRecipe()
recipes = st.builds(TextRecipe, lowercase=st.booleans(), punctuation=st.sampled_from(["strip", "keep"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Seven,\tTWO!\n", "seven two"),
        ("Don\u2019t stop", "don't stop"),
        ("rock 'n' roll", "rock 'n' roll"),
        ("a well-known -- fact...", "a well known fact"),
        ("' quoted ' words", "quoted words"),
        ("\uff26\uff35\uff2c\uff2c width", "full width"),
        ("ﬁve % more", "five % more"),
        ("cafe\u0301", "café"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_known_spellings(text, expected):
    assert normalise(text, STRIP) == expected


def test_case_and_punctuation_stay_when_the_recipe_keeps_them():
    assert normalise("Well,  Don\u2019t!", TextRecipe(lowercase=False, punctuation="keep")) == "Well, Don\u2019t!"


@given(st.text(), recipes)
def test_normalising_twice_changes_nothing(text, recipe):
    once = normalise(text, recipe)
    assert normalise(once, recipe) == once
    assert once == " ".join(once.split())
