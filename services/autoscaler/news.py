"""Filter of log lines and events: most iterations repeat those of the one before."""

import re

__all__ = ["News"]

_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_ADDRESS = re.compile(r"0x[0-9a-f]+")  # of an object in an error's text: different each time
_NEW_SHARE = 0.1  # by which a figure must differ from the last written one to be new


class News:
    """The last message written, by kind.

    Measured figures vary: a message is new if its words are, or if a figure differs by more than a tenth.
    """

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def is_new(self, kind: str, message: str) -> bool:
        """Return whether a message differs from the last of its kind, and store it; empty: the condition is over."""
        if _alike(message, self._last.get(kind, "")):
            return False
        self._last[kind] = message
        return True


def _alike(one: str, other: str) -> bool:
    one, other = (_ADDRESS.sub("0x", text) for text in (one, other))
    figures = [[float(figure.replace(",", "")) for figure in _FIGURE.findall(text)] for text in (one, other)]
    return _FIGURE.sub("#", one) == _FIGURE.sub("#", other) and all(
        abs(a - b) <= _NEW_SHARE * max(a, b) for a, b in zip(*figures, strict=True)
    )
