"""Text files: gzipped or not, with a byte order mark or without."""

import codecs
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

__all__ = ["GZIP", "open_text"]

GZIP = b"\x1f\x8b"


@contextmanager
def open_text(path: Path) -> Iterator[BinaryIO]:
    """Open a file behind its byte order mark; it is unpacked if its first bytes, not its name, say that it is gzipped.

    Raises OSError.
    """
    with open(path, "rb") as file:
        head = file.read(len(GZIP))
        file.seek(0)
        text = BufferedReader(gzip.GzipFile(fileobj=file)) if head == GZIP else file
        if text.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
            text.read(len(codecs.BOM_UTF8))
        yield cast("BinaryIO", text)
