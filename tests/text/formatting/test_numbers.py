"""Numbers against num2words, an independent library that speaks them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from sonorant.text.formatting import formatter, text_of

LARGEST = 10**6
whole = st.integers(0, LARGEST) | st.integers(0, 2100)


def spoken(value, language, to="cardinal"):
    return num2words(value, lang=language, to=to).replace("-", " ").replace(",", "")


def figures(text):
    """The value of a written number."""
    for word, zeros in (("million", "000000"), ("만", "0000")):
        text = text.replace(word, zeros)
    return int("".join(text.replace(",", "").split()))


@pytest.mark.parametrize("language", ["en", "fr"])
@given(value=whole)
def test_a_cardinal_is_the_number_that_another_library_speaks(language, value):
    written = formatter(language, words_below=0).text(spoken(value, language))
    assert figures(written) == value or (language == "fr" and value == 1000)


@pytest.mark.parametrize("value", range(100))
@pytest.mark.parametrize("language", ["en", "fr", "fr_BE", "fr_CH"])
def test_every_cardinal_below_hundred_is_right(language, value):
    assert figures(formatter(language[:2], words_below=0).text(spoken(value, language))) == value


@given(value=st.integers(1, LARGEST))
def test_a_korean_number_is_the_one_that_another_library_speaks(value):
    written = formatter("ko").text(f"{spoken(value, 'ko')} 퍼센트")
    assert written.endswith("%")
    assert figures(written[:-1]) == value


@given(value=st.integers(11, LARGEST), spaces=st.randoms(use_true_random=False))
def test_a_korean_number_of_any_spacing_is_right_or_stays_as_it_was_said(value, spaces):
    parts = re.findall("[일이삼사오육칠팔구]?[십백천]|.", spoken(value, "ko").replace(" ", ""))
    said = "".join(part + spaces.choice(["", " "]) for part in parts).strip()
    written = formatter("ko").text(f"{said} 퍼센트")
    assert written == f"{said} 퍼센트" or (written.endswith("%") and figures(written[:-1]) == value)


@pytest.mark.parametrize("value", range(10, 100))
def test_native_korean_numbers_with_a_counter_are_right(value):
    tens = ["열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"]
    ones = ["", *"한두세네", "다섯", "여섯", "일곱", "여덟", "아홉"]
    said = "스무" if value == 20 else tens[value // 10 - 1] + ones[value % 10]
    assert formatter("ko").text(f"{said} 살입니다") == f"{value}살입니다"


@given(value=st.integers(10, LARGEST))
def test_an_english_ordinal_is_the_one_that_another_library_speaks(value):
    written = formatter("en").text(said := spoken(value, "en", "ordinal"))
    assert written.replace(",", "") == num2words(value, to="ordinal_num") or written == said
    assert written != said or said.endswith(("second", "hundredth", "thousandth", "millionth"))


@given(value=st.integers(10, 2000))
def test_a_french_ordinal_is_the_one_that_another_library_speaks(value):
    said = spoken(value, "fr", "ordinal").replace("tsième", "tième")  # of vingts and cents
    written = formatter("fr").text(said)
    assert figures(written.removesuffix("e")) == value


@given(value=st.integers(1700, 2099).filter(lambda value: value % 100 >= 10 and not 2000 <= value < 2010))
def test_an_english_year_is_the_one_that_another_library_speaks(value):
    assert formatter("en").text(f"in {spoken(value, 'en', 'year')}") == f"in {value}"


@given(whole=st.integers(0, 99_999), fraction=st.text("0123456789", min_size=1, max_size=4))
def test_a_decimal_keeps_its_digits(whole, fraction):
    said = f"{spoken(whole, 'en')} point {' '.join(num2words(int(digit)) for digit in fraction)}"
    assert formatter("en").text(said).replace(",", "") == f"{whole}.{fraction}"


@given(st.lists(st.integers(0, LARGEST), min_size=1, max_size=3))
def test_groups_cover_each_word_once_and_in_order(values):
    words = " and then ".join(spoken(value, "en") for value in values).split()
    groups = formatter("en").written(words)
    assert [i for _, begin, end in groups for i in range(begin, end)] == list(range(len(words)))
    assert text_of(groups) == formatter("en").text(" ".join(words))
