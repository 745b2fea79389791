import functools
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.text import spacing
from sonorant.text.scoring import score
from sonorant.text.spacing import hits, respace

letters = st.text("가나다", max_size=7)
texts = st.lists(st.text("가나다라", min_size=1, max_size=4), max_size=6).map(" ".join)


# Computed by algorithm A1 of Bang et al. 2020, in a program of its own.
@pytest.mark.parametrize(
    ("reference", "hypothesis", "respaced", "errors"),
    [
        ("나는 학교에 갑니다", "나는학교 에 갑니다", "나는 학교에 갑니다", 0),
        ("오늘 날씨가 좋다", "오늘 날시가좋 다", "오늘 날시가 좋다", 1),
        ("그럴 수 있다", "그럴수있다고", "그럴 수 있다고", 1),
        ("할 수 있어", "할쑤 있어", "할쑤 있어", 2),
        ("집에 오늘 가자 날씨가 책을", "집에 오늘 날씨가 날씨가 책을", "집에 오늘 날씨가 날씨가 책을", 1),
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


@functools.cache
def fewest(reference, hypothesis):
    """Return (errors, deletions and insertions) of the best alignment, by trying all."""
    if not reference or not hypothesis:
        return (max(len(reference), len(hypothesis)),) * 2
    wrong = int(reference[0] != hypothesis[0])
    tried = [(fewest(reference[1:], hypothesis[1:]), wrong, 0)]
    tried += [(fewest(reference[1:], hypothesis), 1, 1), (fewest(reference, hypothesis[1:]), 1, 1)]
    return min((errors + error, gaps + gap) for (errors, gaps), error, gap in tried)


def between(found, reference, hypothesis):
    """Return how many letters both have before, between and behind hits."""
    edges = [(-1, -1), *found, (len(reference), len(hypothesis))]
    return [(b[0] - a[0] - 1, b[1] - a[1] - 1) for a, b in itertools.pairwise(edges)]


@given(letters, letters)
def test_of_alignments_with_the_fewest_errors_the_one_with_most_substitutions_counts(reference, hypothesis):
    found = hits(reference, hypothesis)
    assert all(reference[here] == hypothesis[there] for here, there in found)
    apart = between(found, reference, hypothesis)
    assert (sum(max(pair) for pair in apart), sum(abs(a - b) for a, b in apart)) == fewest(reference, hypothesis)


@given(letters, letters)
def test_of_texts_too_long_for_a_table_an_alignment_with_the_fewest_errors_counts(reference, hypothesis):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spacing, "_MOST_CELLS", 0)
        found = hits(reference, hypothesis)
    assert all(reference[here] == hypothesis[there] for here, there in found)
    assert sum(max(pair) for pair in between(found, reference, hypothesis)) == fewest(reference, hypothesis)[0]
