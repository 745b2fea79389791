from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sonorant.text.alignment import align
from sonorant.text.side_by_side import blocks, page, render
from sonorant.text.visible import visible

words = st.lists(st.sampled_from(["zero", "one", "둘", "<b>", "three"]), max_size=8).map(" ".join)


class Reader(HTMLParser):
    """Collects what a browser would show, and every tag."""

    def __init__(self):
        super().__init__()
        self.shown, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.shown.append(data)


def read(document):
    reader = Reader()
    reader.feed(document)
    reader.close()
    return reader


def test_rendering_puts_words_one_above_the_other():
    assert render(align("seven two nine", "seven too nine one")).splitlines() == [
        "REF: seven two nine ***",
        "HYP: seven too nine one",
        "           S        I",
    ]


def test_rendering_of_nothing_is_two_labels():
    assert render(align("", "")) == "REF:\nHYP:\n"


def test_hangul_takes_two_cells_a_syllable():
    assert render(align("안녕 하세요", "안영 하세요 a")).splitlines() == [
        "REF: 안녕 하세요 *",
        "HYP: 안영 하세요 a",
        "     S           I",
    ]


@given(words, words, st.integers(1, 40))
def test_blocks_fit_the_width_and_hold_every_step_once(reference, hypothesis, width):
    alignment = align(reference, hypothesis)
    found = list(blocks(alignment, width))
    assert [column.kind for block in found for column in block] == [step.kind for step in alignment.steps]
    for block in found:
        assert len({cell_len(cell) for column in block for cell in column.cells}) <= len(block)
        used = 4 + sum(1 + cell_len(column.cells[0]) for column in block)
        assert used <= width or len(block) <= 1


@given(st.text(), st.text(), st.text())
def test_a_page_shows_all_texts_and_has_no_other_tags(name, reference, hypothesis):
    alignment = align(reference, hypothesis)
    document = page(name, [reference], {name: alignment})
    found = read(document)
    assert found.tags <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "small", "section",
                          "div", "span", "b", "i"}  # fmt: skip
    assert document.encode()
    shown = "".join(found.shown)
    for step in alignment.steps:
        assert visible(step.reference) in shown
        assert visible(step.hypothesis) in shown


def test_a_page_escapes_markup_and_marks_errors():
    document = page("<script>", ["WER & more"], {"u<1": align("a <img src=x>", "a & b")})
    assert "<script>" not in document
    assert "<img" not in document
    assert "u&lt;1" in document
    assert "WER &amp; more" in document
    assert document.count('<span class="substitution">') == 2
    assert '<span class="hit"><b>a</b><b>a</b><i></i></span>' in document


def test_a_space_that_is_an_error_can_be_seen():
    assert "␣" in page("", [], {"u": align("a b", "ab", "character")})


def test_control_characters_are_escaped():
    assert "\x1b" not in render(align("a\x1b[31m", "b"))
