"""Lines of a corpus' text file; a fault is confined to its line."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BufferedReader
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from sonorant.corpus.utterance import Skipped
from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, path_fault, shown
from sonorant.text_file import behind_mark, open_text

__all__ = ["LONGEST_LINE_BYTES", "Line", "text_lines", "whole_text"]

LONGEST_LINE_BYTES = 1 << 20


class Line(NamedTuple):
    """One line without its end; `fault` is why there is no text, empty if there is."""

    path: Path
    number: int  # from 1
    text: str
    fault: str = ""

    @property
    def position(self) -> str:
        """File and number, as messages name a line."""
        return f"{shown(self.path)}:{self.number}"

    def left_out(self, fault: str) -> Skipped:
        """Return the entry with this line's position and fault."""
        return Skipped(self.position, fault)


def text_lines(path: Path) -> Iterator[Line]:
    r"""Yield the lines of a UTF-8 file, which end at \n or \r\n and nowhere else; no more than one is held in memory.

    A file whose name ends in .gz is unpacked. Raises BadCorpus if it is no file that can be opened, or gzip's data are
    damaged or cut short; Unavailable if the file system fails.
    """
    return _lines(path, _open_by_name)


def whole_text(path: Path) -> Iterator[str]:
    """Yield the text of each line of a file that must be text throughout, gzipped or not.

    Raises BadCorpus, naming the line, and as `text_lines`.
    """
    for line in _lines(path, open_text):
        if line.fault:
            fault = line.left_out(line.fault)
            raise BadCorpus(f"{fault.recording}: {fault.reason}; expected a text file in UTF-8, a sentence a line")
        yield line.text


@contextmanager
def _open_by_name(path: Path) -> Iterator[BinaryIO]:
    with BufferedReader(gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as file:
        yield behind_mark(file)


def _lines(path: Path, opener: Callable[[Path], AbstractContextManager[BinaryIO]]) -> Iterator[Line]:
    if fault := path_fault(path):
        raise BadCorpus(f"{shown(path)}: {fault}; expected a text file in UTF-8")
    try:
        with opener(path) as file:
            for number in count(1):
                line = file.readline(LONGEST_LINE_BYTES + 2)
                if not line:
                    return
                yield _line(path, number, line, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadCorpus(f"{shown(path)}: cannot be unpacked: {error}") from error
    except OSError as error:
        raise BadCorpus(f"{shown(path)}: {fault_of(path, error)}") from error


def _line(path: Path, number: int, line: bytes, file: BinaryIO) -> Line:
    if len(line.rstrip(b"\r\n")) > LONGEST_LINE_BYTES:
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE_BYTES)
        return Line(path, number, "", f"is longer than {LONGEST_LINE_BYTES} bytes")
    try:
        return Line(path, number, line.removesuffix(b"\n").removesuffix(b"\r").decode())
    except UnicodeDecodeError as error:
        return Line(path, number, "", f"is not UTF-8: found byte 0x{line[error.start]:02x} in column {error.start + 1}")
