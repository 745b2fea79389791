import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.text.scoring import score
from sonorant.text.spacing import respace

texts = st.lists(st.text("가나다라", min_size=1, max_size=4), max_size=6).map(" ".join)


# Computed by algorithm A1 of Bang et al. 2020, in a program of its own.
@pytest.mark.parametrize(
    ("reference", "hypothesis", "respaced", "errors"),
    [
        ("나는 학교에 갑니다", "나는학교 에 갑니다", "나는 학교에 갑니다", 0),
        ("오늘 날씨가 좋다", "오늘 날시가좋 다", "오늘 날시가 좋다", 1),
        ("그럴 수 있다", "그럴수있다고", "그럴 수 있다고", 1),
        ("할 수 있어", "할쑤 있어", "할쑤 있어", 2),
        ("저 사람 누구야", "저기 사람누구야 응", "저기 사람 누구야 응", 2),
    ],
)
def test_known_answers(reference, hypothesis, respaced, errors):
    assert respace(reference, hypothesis) == respaced
    assert score([(reference, respace(reference, hypothesis))]).errors == errors


@given(texts, st.data())
def test_no_spacing_of_the_right_letters_is_an_error(reference, data):
    letters = "".join(reference.split())
    spaces = data.draw(st.lists(st.booleans(), min_size=len(letters), max_size=len(letters)))
    hypothesis = "".join(f" {c}" if space else c for c, space in zip(letters, spaces, strict=True))
    assert respace(reference, hypothesis) == reference


@given(texts, texts)
def test_letters_stay_and_words_stand_one_space_apart(reference, hypothesis):
    found = respace(reference, hypothesis)
    assert found.replace(" ", "") == hypothesis.replace(" ", "")
    assert found == " ".join(found.split())


@given(texts)
def test_of_nothing_there_is_nothing_to_learn(text):
    assert respace("", text) == text
    assert respace(text, "") == ""
