"""Text for a line of a terminal: what would end the line or command the terminal is escaped."""

import unicodedata

__all__ = ["visible"]

_DIRECTIONS = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}


def visible(text: str) -> str:
    """Return `text` with control characters, surrogates and changes of writing direction as escape sequences."""
    return "".join(char.encode("unicode_escape").decode() if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs") or char in _DIRECTIONS
