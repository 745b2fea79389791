"""Lines of a corpus' text file; a fault is confined to its line."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from sonorant.corpus.utterance import Skipped
from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, path_fault, shown

__all__ = ["LONGEST_LINE_BYTES", "Line", "text_lines"]

LONGEST_LINE_BYTES = 1 << 20

_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line without its end; `fault` is why there is no text, empty if there is."""

    path: Path
    number: int  # from 1
    text: str
    fault: str = ""

    def left_out(self, fault: str) -> Skipped:
        """Return the entry with this line's position and fault."""
        return Skipped(f"{shown(self.path)}:{self.number}", fault)


def text_lines(path: Path) -> Iterator[Line]:
    r"""Yield the lines of a UTF-8 file, which end at \n or \r\n and nowhere else; no more than one is held in memory.

    Raises BadCorpus if it is no file that can be opened, Unavailable if the file system fails.
    """
    if fault := path_fault(path):
        raise BadCorpus(f"{shown(path)}: {fault}; expected a text file in UTF-8")
    try:
        with path.open("rb") as file:
            for number in count(1):
                line = file.readline(LONGEST_LINE_BYTES + 2)
                if not line:
                    return
                yield _line(path, number, line, file)
    except OSError as error:
        raise BadCorpus(f"{shown(path)}: {fault_of(path, error)}") from error


def _line(path: Path, number: int, line: bytes, file: BinaryIO) -> Line:
    if number == 1:
        line = line.removeprefix(_BOM)
    if len(line.rstrip(b"\r\n")) > LONGEST_LINE_BYTES:
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE_BYTES)
        return Line(path, number, "", f"is longer than {LONGEST_LINE_BYTES} bytes")
    try:
        return Line(path, number, line.removesuffix(b"\n").removesuffix(b"\r").decode())
    except UnicodeDecodeError as error:
        return Line(path, number, "", f"is not UTF-8: found byte 0x{line[error.start]:02x} in column {error.start + 1}")
