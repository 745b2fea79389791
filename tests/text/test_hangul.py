import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from sonorant.text.hangul import compose, decompose

SYLLABLES = [chr(code) for code in range(0xAC00, 0xD7A4)]
hangul = st.text(st.sampled_from("가각힣각ᆩㅋㅏᅀᆞ a") | st.characters(min_codepoint=0x1100, max_codepoint=0x11FF))


def test_every_syllable_decomposes_as_unicode_says_and_comes_back():
    assert len(SYLLABLES) == 11_172
    for syllable in SYLLABLES:
        assert decompose(syllable) == unicodedata.normalize("NFD", syllable)
        assert compose(decompose(syllable)) == syllable


def test_all_syllables_in_a_row_come_back():
    text = "".join(SYLLABLES)
    assert compose(decompose(text)) == text


def test_known_jamo():
    assert list(decompose("한글 a")) == ["ᄒ", "ᅡ", "ᆫ", "ᄀ", "ᅳ", "ᆯ", " ", "a"]


@given(st.text() | hangul)
def test_text_in_nfc_comes_back(text):
    text = unicodedata.normalize("NFC", text)
    assert compose(decompose(text)) == text


@given(hangul)
def test_composition_is_that_of_unicode(text):
    jamo = decompose(text)
    assert compose(jamo) == unicodedata.normalize("NFC", jamo)


def test_jamo_that_make_no_syllable_stay():
    assert compose("ᄀᆨᅡᅡㅋ") == "ᄀᆨᅡᅡㅋ"
