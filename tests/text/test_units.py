import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.errors import BadCorpus, BadRun, RejectedExample
from sonorant.text import pieces
from sonorant.text.normalisation import normalise
from sonorant.text.section import TextRecipe
from sonorant.text.units import Units, learn_units

TEXTS = ["the quick brown fox", "jumps over the lazy dog", "don't the dog", "", "zero one two three"]
KINDS = ("words", "characters", "bpe", "unigram")
LETTERS = string.ascii_lowercase + "'"


def _is_normal(word):
    return normalise(word, TextRecipe()) == word


transcripts = st.lists(
    st.lists(st.text(LETTERS, min_size=1, max_size=8).filter(_is_normal), max_size=5).map(" ".join),
    min_size=1,
    max_size=5,
).filter(lambda texts: any(texts))


def units_of(kind, texts=TEXTS, pieces=48, **settings):
    return learn_units(TextRecipe(units=kind, pieces=pieces, **settings), texts)


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
        ("unigram", "the dog costs 3", "'3'"),
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


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_there_are_as_many_pieces_as_asked_or_as_many_as_the_corpus_offers(kind):
    syllables = [c + v for c in "bdfgklmnprst" for v in "aeiou"]
    texts = [f"{a}{b} {b}{a}{a}" for a in syllables for b in syllables]
    assert units_of(kind, texts, pieces=150).size == 150
    assert 28 <= units_of(kind, pieces=5000).size < 5000


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_more_characters_than_pieces_is_refused_with_the_number_needed_and_the_rarest(kind):
    message = r"pieces=32: the transcripts have 41 characters, the rarest 'ä', 'é', 'ö', .* at least 41"
    with pytest.raises(BadCorpus, match=message):
        units_of(kind, [f"{string.ascii_lowercase}0123456789"] * 2 + ["äöüé"], pieces=32)


def test_bpe_and_unigram_cut_words_in_their_own_ways():
    assert units_of("bpe").symbols != units_of("unigram").symbols


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_of_a_large_text_a_seeded_sample_is_learnt_from_that_loses_no_character(kind, monkeypatch):
    monkeypatch.setattr(pieces, "_MOST_WORDS", 50)
    texts = ["the quick brown fox jumps over a lazy dog"] * 40 + ["ß"]
    first, again, other = (learn_units(TextRecipe(units=kind, pieces=48), texts, seed) for seed in (1, 1, 2))
    assert first == again
    assert first.model != other.model
    assert first.labels("ß")


KOREAN = ["안녕 하세요 각 값을", "한글 the 말", "ㅋㅋ 뭐"]


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram"])
def test_jamo_are_units_and_syllables_are_what_they_spell(kind):
    units = units_of(kind, KOREAN, pieces=40, hangul="jamo")
    assert units.jamo
    for text in KOREAN:
        assert units.text(units.labels(text)) == text
    assert not any("가" <= char <= "힣" for symbol in units.symbols for char in symbol)
    assert units.text(units.labels("흘 갈")) == "흘 갈"  # syllables that no transcript has
    assert Units.from_json(units.to_json()) == units


def test_all_syllables_are_written_with_68_units_of_jamo():
    every = "".join(map(chr, range(0xAC00, 0xD7A4)))
    units = units_of("characters", [every], hangul="jamo")
    assert units.size == 19 + 21 + 27 + 1
    assert units.text(units.labels(every)) == every


def test_jamo_of_words_are_refused():
    with pytest.raises(ValueError, match="hangul: jamo with units: words"):
        TextRecipe(units="words", hangul="jamo")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (("characters", [*TEXTS, "x1"]), "42: 29 characters; expected the units of a: 28 characters; unit 2 is '1'"),
        (("words", TEXTS), r"42: .* words; expected .* unit 0 is 'brown', expected ' '; both must come from one"),
    ],
)
def test_units_of_another_tokenizer_are_told_apart_by_the_first_that_differs(other, message):
    units = units_of("characters")
    units.check_same(Units.from_json(units.to_json()), "a", "42")
    with pytest.raises(BadRun, match=message):
        units.check_same(units_of(*other), "a", "42")


def test_a_vocabulary_that_only_ends_earlier_is_another():
    with pytest.raises(BadRun, match="unit 1 is none, expected 'b'"):
        Units("words", ("a", "b")).check_same(Units("words", ("a",)), "mine", "other")


def test_the_sentencepiece_model_is_read_by_its_old_name_too():
    units = units_of("bpe")
    assert Units.from_json(units.to_json().replace('"sentencepiece":', '"bpe_model":')) == units


def test_transcripts_without_words_are_refused():
    with pytest.raises(BadCorpus, match="no transcript has a word"):
        units_of("words", ["", " ", "..."])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"kind": "words"}', '{"kind": "tones", "symbols": []}', '{"kind": "words", "symbols": [1]}',
     '{"kind": "unigram", "symbols": ["a"]}', '{"kind": "words", "symbols": ["a"], "jamo": 1}', "[" * 100000,
     '{"kind": "words", "symbols": ["a"], "sentencepiece": "YQ=="}', '{"kind": [], "symbols": ["a"]}',
     '{"kind": "bpe", "symbols": ["a"]}', '{"kind": "bpe", "symbols": ["a"], "bpe_model": "%"}'],
)  # fmt: skip
def test_a_text_that_is_no_units_json_is_refused(text):
    with pytest.raises(BadCorpus, match=r"units\.json"):
        Units.from_json(text)


def test_a_missing_key_is_told_as_one():
    with pytest.raises(BadCorpus, match=r"^tokenizer\.json: has no key 'kind'; expected what"):
        Units.from_json("{}", "tokenizer.json")


def test_a_symbol_that_stands_twice_is_named():
    with pytest.raises(BadCorpus, match=r"^tokenizer\.json: symbol 'b' stands twice"):
        Units.from_json('{"kind": "characters", "symbols": [" ", "b", "a", "b"]}', "tokenizer.json")


def test_a_broken_bpe_model_is_refused():
    with pytest.raises(BadCorpus, match="no sentencepiece model"):
        Units("bpe", ("a",), b"junk").labels("a")
    with pytest.raises(BadCorpus, match=r"^units\.json: units: 4 bytes that are no sentencepiece model"):
        Units("bpe", ("a",), b"junk").check_model("units.json")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_symbols_that_are_not_the_models_pieces_are_refused(kind):
    units = units_of(kind)
    units.check_model("units.json")
    changed = Units(units.kind, (*units.symbols[:-1], "other"), units.model)
    message = rf"^units\.json: {units.size} symbols that are not the {units.size} pieces of"
    with pytest.raises(BadCorpus, match=message):
        changed.check_model("units.json")
