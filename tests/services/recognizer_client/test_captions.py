from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from services.recognizer_client.captions import Captions, tail

COLUMNS = 20


def screen(written, columns):
    """The lines of a terminal on which `written` was written, without wide characters."""
    lines, at = [""], 0
    for character in written:
        if character == "\r":
            at = 0
            continue
        if character == "\n" or at == columns:
            lines.append("")
            at = 0
        if character != "\n":
            lines[-1] = lines[-1][:at] + character + lines[-1][at + 1 :]
            at += 1
    return [line.rstrip() for line in lines]


@given(texts=st.lists(st.text("abc ", max_size=60), max_size=6))
def test_a_terminal_shows_the_end_of_the_last_text_and_nothing_of_those_before(texts):
    captions = Captions()
    written = ""
    for text in texts:
        written += captions.interim(text, COLUMNS)
        (line,) = screen(written, COLUMNS)
        assert line.removeprefix("…") == (text if len(text) < COLUMNS else text[-(COLUMNS - 2) :]).rstrip()
    written += captions.cleared()
    assert screen(f"{written}x", COLUMNS) == ["x"]
    last = "the end"
    assert screen(written + captions.final(last) + captions.interim("next", COLUMNS), COLUMNS)[:2] == [last, "next"]


@given(text=st.text(max_size=30), cells=st.integers(0, 20))
def test_a_tail_has_as_many_cells_as_there_are_also_of_wide_characters(text, cells):
    shown = tail(text, cells)
    assert cell_len(shown) <= cells
    assert text.endswith(shown.removeprefix("…"))
    if shown != text and cells:
        assert cell_len(shown) >= cells - 1
