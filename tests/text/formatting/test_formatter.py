from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.text.formatting import Formatter, Written, formatter
from sonorant.text.formatting.casing import sentence_case
from sonorant.text.formatting.rules import Match, Tokens

VOCABULARIES = {
    "en": "a and at in on to the of past per cent point oh o double no half quarter p m pm o'clock dollars cents "
    "percent hour miles degrees celsius zero one two five nine ten twelve nineteen twenty thirty eighty eighties "
    "hundred thousand million first second fifth tenth twentieth march may january kilometers euros people",
    "fr": "à et le la moins quart demie heure heures minutes midi pour cent virgule euros centimes zéro un une deux "
    "sept dix onze seize vingt vingts trente soixante quatre quatre-vingt cents mille million millions mars mai "
    "premier deuxième vingtième siècle kilomètres heure degrés personnes d'un",
    "ko": "영 공 일 이 삼 십 백 천 만 억 이십 삼백 이천이십오 년 월 일 시 분 세 열두 스물다섯 살 명 원 퍼센트 킬로미터 "
    "유월 사람 이사 천만에 시간 반 도 오일에",
}
texts = {language: st.lists(st.sampled_from(words.split()), max_size=8) for language, words in VOCABULARIES.items()}


@pytest.mark.parametrize("language", VOCABULARIES)
@given(data=st.data())
def test_formatting_twice_is_formatting_once(language, data):
    words = data.draw(texts[language])
    once = formatter(language).text(" ".join(words))
    assert formatter(language).text(once) == once


@pytest.mark.parametrize(
    "said", ["영 이사 이십", "삼 영 삼 백 퍼센트", "공 삼 공 세 시간", "천 이 일 만 이십", "십 이 일 만 원"]
)
def test_figures_do_not_let_the_words_beside_them_be_read(said):
    once = formatter("ko").text(said)
    assert once != said
    assert formatter("ko").text(once) == once


@pytest.mark.parametrize("language", VOCABULARIES)
@given(data=st.data())
def test_every_word_is_in_one_group_and_words_alone_are_verbatim(language, data):
    words = data.draw(texts[language])
    groups = formatter(language).written(words)
    assert [i for _, begin, end in groups for i in range(begin, end)] == list(range(len(words)))
    assert all(begin < end for _, begin, end in groups)


@pytest.mark.parametrize("language", VOCABULARIES)
@given(words=st.lists(st.text("abé'-.,$%0가이", min_size=1), max_size=5))
def test_words_of_no_rule_stay_as_they_are(language, words):
    groups = formatter(language).written(words)
    assert [i for _, begin, end in groups for i in range(begin, end)] == list(range(len(words)))
    assert all(
        text == words[begin] for text, begin, end in groups if end == begin + 1 and not any(map(str.isdigit, text))
    )


def test_a_group_spans_the_words_that_it_is_written_for():
    words = ["it", "costs", "five", "dollars", "and", "fifty", "cents", "today"]
    assert formatter("en").written(words) == (
        Written("it", 0, 1), Written("costs", 1, 2), Written("$5.50", 2, 7), Written("today", 7, 8),
    )  # fmt: skip


def test_the_words_of_a_hyphenated_word_are_read_apart_and_written_whole():
    assert formatter("en").written(["twenty-three", "well-known", "people"]) == (
        Written("23", 0, 1), Written("well-known", 1, 2), Written("people", 2, 3),
    )  # fmt: skip
    assert formatter("en").text("six-figure") == "six-figure"


def test_case_does_not_hide_a_number_and_stays_where_nothing_is_written():
    assert formatter("en").text("Twenty People saw Ann") == "20 People saw Ann"


def test_a_hook_changes_texts():
    cased = formatter("en", hooks=(sentence_case,))
    assert cased.text("no one came") == "No one came"
    assert cased.text("twenty came") == "20 came"
    assert cased.text("") == ""


def test_a_hook_that_changes_spans_is_refused():
    with pytest.raises(AssertionError, match="spans"):
        Formatter((), (lambda groups: groups[1:],)).written(["a", "b"])


def test_the_first_rule_that_reads_something_wins():
    def first(tokens, i):
        return Match("1", i + 2) if tokens.at(i) == "a" and tokens.at(i + 1) == "b" else None

    def second(tokens, i):
        return Match("2", i + 1) if tokens.at(i) == "a" else None

    assert Formatter((first, second)).text("a b a c") == "1 2 c"


def test_for_scores_small_numbers_are_figures_too():
    assert formatter("en", words_below=0).text("two dogs") == "2 dogs"
    assert formatter("en").text("two dogs") == "two dogs"


def test_the_table_of_the_documents_is_what_is_written():
    page = (Path(__file__).parents[3] / "docs/recognizer.md").read_text(encoding="utf-8")
    table = page.partition("| said | written |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in table]
    for language, (said, written) in zip(["en", "en", "en", "fr", "ko"], rows, strict=True):
        texts = [formatter(language).text(text) for text in said.split(", ")]
        assert " ".join(", ".join(texts).split()) == written


PHRASES = {
    "en": "five to ten or between and oh one point two hundred thousand million dollars percent p m half a feet foot "
    "twenty twenty's ninth in from nineteen double zero this by a third monday june",
    "fr": "cinq à dix ou entre et zéro un une virgule deux cents mille millions euros pour heures demi mars au le du "
    "vingt neuvième siècle premier en soixante fois cents dollars et code postal louis",
    "ko": "이 오 십 백 천 만 억 조 이십 삼 점 분의 일 오도 퍼센트 원 명 열 두 세 시 스물 다섯 살 에서 대 이만 영 "
    "영점오 초 세기 년대 분은 동안 육칠팔구입니다 열네",
}


@pytest.mark.parametrize("language", PHRASES)
@given(data=st.data())
def test_formatting_phrases_of_several_numbers_twice_is_formatting_once(language, data):
    words = data.draw(st.lists(st.sampled_from(PHRASES[language].split()), max_size=8))
    once = formatter(language).text(" ".join(words))
    assert formatter(language).text(once) == once


@pytest.mark.parametrize(
    ("language", "phrase"),
    [
        ("en", "hundred and"),
        ("en", "five hundred and"),
        ("en", "first"),
        ("en", "o"),
        ("en", "five to"),
        ("en", "one or two hundred or"),
        ("en", "first and"),
        ("en", "five o"),
        ("en", "oh five"),
        ("en", "five point o"),
        ("en", "twenty one's"),
        ("fr", "cent et"),
        ("fr", "zéro douze"),
        ("fr", "cinq à"),
        ("fr", "deux ou trois cents ou"),
        ("fr", "code postal"),
        ("fr", "deuxième"),
        ("fr", "dix virgule zéro"),
        ("ko", "만"),
        ("ko", "일억 이천만"),
        ("ko", "십 점"),
        ("ko", "삼 조"),
        ("ko", "공일"),
        ("ko", "이 분"),
    ],
)
@pytest.mark.parametrize("last", ["", " ten-x dix-x 십점"])
def test_the_tokens_that_are_read_grow_with_the_words_alone(language, phrase, last, monkeypatch):
    reads = []
    at = Tokens.at
    monkeypatch.setattr(Tokens, "at", lambda tokens, i: (reads.append(len(tokens)), at(tokens, i))[1])

    def count(times):
        reads.clear()
        formatter(language).text(" ".join([phrase] * times) + last)
        return len(reads)

    assert count(400) < 2.2 * count(200)


def test_the_end_of_many_ohs_is_found_at_once():
    assert formatter("en").text(" ".join(["o"] * 2000)) == " ".join(["o"] * 2000)
    assert formatter("en").text(f"five oh five {' '.join(['o'] * 2000)}") == f"505 {' '.join(['o'] * 2000)}"
