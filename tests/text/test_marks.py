import pytest

from sonorant.text.marks import marks_warning


@pytest.mark.parametrize("mark", ["<unk>", "<SPN/>", "[noise]", "[cough laugh]"])
def test_marks_are_counted_and_the_first_is_named(mark):
    told = marks_warning([("a", "one two"), ("b", f"one {mark} two"), ("c", f"{mark}"), ("d", "")])
    assert told.startswith(f"2 transcripts have marks, the first b: {mark}; they are spelt as if they were spoken")
    assert marks_warning([("b", mark)]).startswith("1 transcript has a mark, the first b: ")


@pytest.mark.parametrize("text", ["one two", "a < b and c > d", "it is (not) so", "x[", "] y", ""])
def test_signs_between_words_are_no_marks(text):
    assert marks_warning([("a", text)]) == ""
