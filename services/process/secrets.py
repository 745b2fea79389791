"""Masks secrets in messages: user and password of an address, values of named keys."""

import re

__all__ = ["masked"]

_HIDDEN = "***"
# Greedy, up to the last @ of a word: a password may hold one. JSON and Python end an address with a quote.
_USER = re.compile(r"(?<=://)[^\s\"]*@")
_NAMED = re.compile(
    r"((?:password|passwd|pwd|secret|token|signature|credential|api_?key|access_?key(?:_id)?|sig)=)[^\s\"'&;,)]+",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """Return the text with `***` for the user and password of each address in it, and for each `password=…`.

    `redis://me:secret@host:6379/0` becomes `redis://***@host:6379/0`.
    """
    return _NAMED.sub(rf"\1{_HIDDEN}", _USER.sub(f"{_HIDDEN}@", text))
