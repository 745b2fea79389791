"""Filter of log lines and events: most iterations repeat those of the one before."""

import re

__all__ = ["News"]

_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_ADDRESS = re.compile(r"0x[0-9a-f]+")  # of an object, as errors show them: another each time
_NEW_SHARE = 0.1  # by which a figure must differ from the one that was told, to be new


class News:
    """What was told last, by kind.

    Figures are measured and waver: a message is new if its words are, or if a figure differs by more than a tenth.
    """

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def is_new(self, kind: str, message: str) -> bool:
        """Return whether to tell a message, and take it for told if so; empty: there is nothing to tell."""
        if _alike(message, self._told.get(kind, "")):
            return False
        self._told[kind] = message
        return True


def _alike(one: str, other: str) -> bool:
    one, other = (_ADDRESS.sub("0x", text) for text in (one, other))
    figures = [[float(figure.replace(",", "")) for figure in _FIGURE.findall(text)] for text in (one, other)]
    return _FIGURE.sub("#", one) == _FIGURE.sub("#", other) and all(
        abs(a - b) <= _NEW_SHARE * max(a, b) for a, b in zip(*figures, strict=True)
    )
