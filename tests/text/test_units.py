import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.errors import BadCorpus, RejectedExample
from sonorant.text.normalisation import normalise
from sonorant.text.section import TextRecipe
from sonorant.text.units import Units, learn_units

TEXTS = ["the quick brown fox", "jumps over the lazy dog", "don't the dog", "", "zero one two three"]
KINDS = ("words", "characters", "bpe")
LETTERS = string.ascii_lowercase + "'"


def _is_normal(word):
    return normalise(word, TextRecipe()) == word


transcripts = st.lists(
    st.lists(st.text(LETTERS, min_size=1, max_size=8).filter(_is_normal), max_size=5).map(" ".join),
    min_size=1,
    max_size=5,
).filter(lambda texts: any(texts))


def units_of(kind, texts=TEXTS, pieces=48):
    return learn_units(TextRecipe(units=kind, pieces=pieces), texts)


@pytest.mark.parametrize("kind", KINDS)
@given(texts=transcripts)
@settings(max_examples=40)
def test_text_undoes_labels(kind, texts):
    units = units_of(kind, texts)
    for text in texts:
        assert units.text(units.labels(text)) == text
        assert all(0 <= label < units.size for label in units.labels(text))


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_transcripts_does_not_matter(kind):
    assert units_of(kind).to_json() == units_of(kind, TEXTS[::-1]).to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_json_gives_the_same_units_back(kind):
    units = units_of(kind)
    again = Units.from_json(units.to_json())
    assert again == units
    assert again.labels("the lazy dog") == units.labels("the lazy dog")


@pytest.mark.parametrize("kind", KINDS)
def test_blank_comes_after_the_last_unit(kind):
    units = units_of(kind)
    assert units.blank == units.size == len(units.symbols)


@pytest.mark.parametrize(
    ("kind", "text", "symbol"),
    [
        ("words", "the slow dog", "'slow'"),
        ("characters", "the dog costs 3", "'3'"),
        ("bpe", "the dog costs 3", "'3'"),
        ("bpe", "the\u2581dog", repr("\u2581")),
    ],
)
def test_a_symbol_outside_the_units_is_rejected_by_name(kind, text, symbol):
    with pytest.raises(RejectedExample) as rejected:
        units_of(kind).labels(text)
    assert symbol in str(rejected.value)
    assert text in str(rejected.value) or repr(text) in str(rejected.value)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_transcript_has_no_labels(kind):
    assert units_of(kind).labels("") == []
    assert units_of(kind).text([]) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_words_start_where_starts_word_says(kind):
    units = units_of(kind)
    labels = units.labels("jumps over the dog")
    starts = sum(map(units.starts_word, labels))
    assert starts == (3 if kind == "characters" else 4)


def test_a_decoded_character_string_has_single_spaces():
    units = units_of("characters")
    space, d = units.labels("d d")[1], units.labels("d")[0]
    assert units.text([space, d, space, space, d, space]) == "d d"


def test_bpe_has_as_many_units_as_asked_or_as_many_as_the_corpus_offers():
    assert units_of("bpe", pieces=48).size == 48
    assert 32 <= units_of("bpe", pieces=5000).size < 5000


def test_more_characters_than_pieces_is_refused_with_the_number_needed():
    with pytest.raises(BadCorpus, match=r"pieces=32: the transcripts have 41 characters"):
        units_of("bpe", [string.ascii_lowercase + "0123456789", "äöüé"], pieces=32)


def test_transcripts_without_words_are_refused():
    with pytest.raises(BadCorpus, match="no transcript has a word"):
        units_of("words", ["", " ", "..."])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"kind": "words"}', '{"kind": "tones", "symbols": []}', '{"kind": "words", "symbols": [1]}',
     '{"kind": "bpe", "symbols": ["a"]}', '{"kind": "bpe", "symbols": ["a"], "bpe_model": "%"}'],
)  # fmt: skip
def test_a_text_that_is_no_units_json_is_refused(text):
    with pytest.raises(BadCorpus, match=r"units\.json"):
        Units.from_json(text)


def test_a_broken_bpe_model_is_refused():
    with pytest.raises(BadCorpus, match="no sentencepiece model"):
        Units("bpe", ("a",), b"junk").labels("a")
