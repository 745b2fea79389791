"""Text files: gzipped or not, with a byte order mark or without."""

import codecs
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

__all__ = ["GZIP", "behind_mark", "open_text"]

GZIP = b"\x1f\x8b"


@contextmanager
def open_text(path: Path) -> Iterator[BinaryIO]:
    """Open a file behind its byte order mark; it is unpacked if its first bytes, not its name, say that it is gzipped.

    Raises OSError.
    """
    with open(path, "rb") as file:
        head = file.read(len(GZIP))
        file.seek(0)
        yield behind_mark(BufferedReader(gzip.GzipFile(fileobj=file)) if head == GZIP else file)


def behind_mark(file: "BufferedReader[Any]") -> BinaryIO:
    """Return the file, at its beginning, or behind its byte order mark."""
    if file.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    return cast("BinaryIO", file)
