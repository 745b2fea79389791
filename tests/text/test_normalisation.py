import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.text.normalisation import first_number, normalise
from sonorant.text.section import TextRecipe

STRIP = TextRecipe()
FRENCH = TextRecipe(language="fr")


def _recipe(language, elisions, **settings):
    return TextRecipe(language=language, elisions=elisions if language == "fr" else "attached", **settings)


recipes = st.builds(
    _recipe,
    language=st.sampled_from([None, "en", "fr", "ko"]),
    elisions=st.sampled_from(["attached", "detached"]),
    lowercase=st.booleans(),
    punctuation=st.sampled_from(["strip", "keep"]),
    accents=st.sampled_from(["keep", "strip"]),
    ligatures=st.sampled_from(["keep", "expand"]),
)
texts = st.text() | st.text("'’´` aelLnquœÉé\u0301\u0327ㅋ안각ﾡ-«.9_")


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
        ("5 ‰ (§ 3)", "5 ‰ § 3"),
        ("cafe\u0301", "café"),
        ("don´t don`t `quoted´", "don't don't quoted"),
        ("cafe\u0301´s cafe\u0301`s", "café's café's"),
        ("ㅋㅋ ㅇㅋ ᄒ\u1161\u11ab", "ㅋㅋ ㅇㅋ 한"),
        ("ﾡﾢ", "ㄱㄲ"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_known_spellings(text, expected):
    assert normalise(text, STRIP) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'Don't go,' she said", "don't go she said"),
        ("the dogs' food isn't 'tis", "the dogs' food isn't 'tis"),
        ("rock 'n' roll in the '90s", "rock 'n' roll in the '90s"),
        ("“goin' home” ‘now’", "goin' home now"),
        ("say 'yes' and 'no'", "say yes and no"),
        ("naïve œuvre", "naïve œuvre"),
    ],
)
def test_english(text, expected):
    assert normalise(text, TextRecipe(language="en")) == expected


@pytest.mark.parametrize(
    ("text", "attached", "detached"),
    [
        ("L’association, aujourd’hui !", "l'association aujourd'hui", "l' association aujourd'hui"),
        ("l' eau qu'il n´a pas", "l'eau qu'il n'a pas", "l' eau qu' il n' a pas"),
        ("Jusqu'à ce qu’on s’en aille", "jusqu'à ce qu'on s'en aille", "jusqu' à ce qu' on s' en aille"),
        ("quelqu'un, presqu’île, entr'acte", "quelqu'un presqu'île entr'acte", "quelqu'un presqu'île entr'acte"),
        ("c'est-à-dire", "c'est à dire", "c' est à dire"),
        ("du 'Camping', l'incubateur", "du camping l'incubateur", "du camping l' incubateur"),
        ("Une ' est ‘réordonnés’", "une est réordonnés", "une est réordonnés"),
        ("« l’œuvre » E\u0301tat", "l'œuvre état", "l' œuvre état"),
        ("J'l'ai vu, j' l' ai", "j'l'ai vu j'l'ai", "j' l' ai vu j' l' ai"),
        ("l’« eau » d'\"ici\" qu'“on”", "l'eau d'ici qu'on", "l' eau d' ici qu' on"),
        ("l'‘eau’ d’ ‘ici’", "l'eau d'ici", "l' eau d' ici"),
        ('un "l\'" suivi', "un l suivi", "un l suivi"),
    ],
)
def test_french(text, attached, detached):
    assert normalise(text, FRENCH) == attached
    assert normalise(text, TextRecipe(language="fr", elisions="detached")) == detached


def test_elided_words_part_when_punctuation_stays_too():
    recipe = TextRecipe(language="fr", elisions="detached", punctuation="keep", lowercase=False)
    assert normalise("L’eau, d'ici.", recipe) == "L’ eau, d' ici."


def test_korean_keeps_apostrophes_of_latin_words_only():
    assert normalise("'안녕' 하세요, it's ‘좋아’!", TextRecipe(language="ko")) == "안녕 하세요 it's 좋아"


def test_accents_and_ligatures_go_when_the_recipe_says_so():
    recipe = TextRecipe(language="fr", accents="strip", ligatures="expand")
    assert normalise("Cœur, ça ÆTERNUM où naïf", recipe) == "coeur ca aeternum ou naif"
    assert normalise("йод 안녕 が", recipe) == "йод 안녕 が"


def test_case_and_punctuation_stay_when_the_recipe_keeps_them():
    assert normalise("Well,  Don\u2019t!", TextRecipe(lowercase=False, punctuation="keep")) == "Well, Don\u2019t!"


def test_characters_that_nobody_sees_are_no_letters():
    assert normalise("\ufeffaujour\u00add’hui\u200e l’\u2060eau", FRENCH) == "aujourd'hui l'eau"
    assert normalise("one\u200btwo", TextRecipe()) == "one two"
    assert normalise("می\u200cخواهم", TextRecipe()) == "می\u200cخواهم"


def test_numbers_stay_and_are_found():
    assert normalise("En 1984, 3,5 %", FRENCH) == "en 1984 3 5 %"
    assert first_number("en 1984 le 2e") == "1984"
    assert first_number("n² ou") == "n²"
    assert first_number("sans nombre") == ""


@given(texts, recipes)
def test_normalising_twice_changes_nothing(text, recipe):
    once = normalise(text, recipe)
    assert normalise(once, recipe) == once
    assert once == " ".join(once.split())
    assert unicodedata.is_normalized("NFC", once)


@given(st.text("'a b", max_size=20))
def test_english_quotation_marks_go_in_pairs(text):
    kept, given_ = normalise(text, TextRecipe(language="en")), normalise(text, STRIP)
    assert (given_.count("'") - kept.count("'")) % 2 == 0
