"""Which files are recordings, by their names."""

from pathlib import Path

__all__ = ["is_recording"]

# Formats with a header that soundfile reads, and WebM, which a recognizer decodes.
_SUFFIXES = frozenset(
    {".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".sph", ".w64", ".wav", ".webm"}
)


def is_recording(name: str) -> bool:
    """Return whether a file of this name, in upper or lower case, is a recording."""
    return Path(name).suffix.lower() in _SUFFIXES
