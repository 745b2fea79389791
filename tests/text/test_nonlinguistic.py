import pytest

from sonorant.text.nonlinguistic import nonlinguistic_warning


@pytest.mark.parametrize("mark", ["<unk>", "<SPN/>", "[noise]", "[cough laugh]"])
def test_symbols_are_counted_and_the_first_is_named(mark):
    told = nonlinguistic_warning([("a", "one two"), ("b", f"one {mark} two"), ("c", f"{mark}"), ("d", "")])
    assert told.startswith(
        f"2 transcripts have non-linguistic symbols, the first b: {mark}; they are spelt as if they were spoken"
    )
    assert nonlinguistic_warning([("b", mark)]).startswith("1 transcript has a non-linguistic symbol, the first b: ")


@pytest.mark.parametrize("text", ["one two", "a < b and c > d", "it is (not) so", "x[", "] y", ""])
def test_signs_between_words_are_words(text):
    assert nonlinguistic_warning([("a", text)]) == ""
