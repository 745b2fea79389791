"""Live captions: a line of a terminal that is rewritten while somebody speaks."""

from rich.cells import cell_len, get_character_cell_size

__all__ = ["Captions", "tail"]


class Captions:
    """Texts as they are to be written; only interim ones are rewritten, and have to fit into a line."""

    def __init__(self) -> None:
        self._cells = 0  # of the line that is shown

    def interim(self, text: str, columns: int) -> str:
        """Return what shows the end of `text` on a terminal of so many columns."""
        return self._over(tail(text, columns - 1))  # a full line would wrap on some terminals

    def final(self, text: str) -> str:
        """Return what shows the whole text, and ends the line."""
        shown = self._over(text) + "\n"
        self._cells = 0
        return shown

    def cleared(self) -> str:
        """Return what empties the line, at whose beginning something else may be written then."""
        return f"{self._over('')}\r"

    def _over(self, line: str) -> str:
        cells = cell_len(line)
        cleared = " " * (self._cells - cells)
        self._cells = cells
        return f"\r{line}{cleared}"


def tail(text: str, cells: int) -> str:
    """Return the text, or as much of its end, after an ellipsis, as has at most so many cells of a terminal."""
    if cell_len(text) <= cells:
        return text
    left, at = cells - 1, len(text)
    while at > 0 and (left := left - get_character_cell_size(text[at - 1])) >= 0:
        at -= 1
    return f"…{text[at:]}" if cells > 0 else ""
