"""Bytes that have come and are not read yet, with a limit, and what is to be skipped of those to come."""

import re

from sonorant.serving.audio_formats.samples import bad_audio

__all__ = ["ByteBuffer"]


class ByteBuffer:
    """A queue of bytes; what is skipped is never held."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._skip = 0

    def __len__(self) -> int:
        return len(self._data)

    @property
    def skipping(self) -> bool:
        """Whether bytes that were skipped have not all come."""
        return self._skip > 0

    def push(self, data: bytes) -> None:
        """Append bytes."""
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self._data += data[skipped:] if skipped else data

    def peek(self, size: int, at: int = 0) -> bytes | None:
        """Return `size` bytes from position `at`, or None if they have not all come."""
        return bytes(self._data[at : at + size]) if len(self._data) >= at + size else None

    def peek_up_to(self, size: int, at: int = 0) -> bytes:
        """Return `size` bytes from position `at`, or those of them that have come."""
        return bytes(self._data[at : at + size])

    def find(self, marker: bytes, at: int) -> int:
        """Return the first position from `at` on where `marker` stands; -1 if it has not come."""
        return self._data.find(marker, at)

    def search(self, pattern: re.Pattern[bytes], at: int, end: int) -> int:
        """Return the first position from `at` on where `pattern` matches, before `end`; -1 if it has not come."""
        found = pattern.search(self._data, at, end)
        return -1 if found is None else found.start()

    def take(self, size: int, most: int, what: str) -> bytes | None:
        """Remove and return the next `size` bytes; None as long as they have not come. BadAudio beyond `most`."""
        if size > most:
            raise bad_audio(f"{what} of {size} bytes: expected {most} at most")
        if len(self._data) < size:
            return None
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken

    def skip(self, size: int) -> None:
        """Drop the next `size` bytes, of those here and those to come."""
        here = min(size, len(self._data))
        del self._data[:here]
        self._skip += size - here
