"""Masks secrets in messages: user and password of an address, values of named keys, API keys of clients."""

import re

__all__ = ["masked"]

_HIDDEN = "***"
# Greedy, up to the last @ of a word: a password may hold one. JSON and Python end an address with a quote.
_USER = re.compile(r"(?<=://)[^\s\"]*@")
_NAMED = re.compile(
    r"((?:password|passwd|pwd|secret|token|signature|credential|api_?key|access_?key(?:_id)?|sig)=)[^\s\"'&;,)]+",
    re.IGNORECASE,
)
# As `sonorant.serving.api_keys` makes them.
_API_KEY = re.compile(r"\b(sonorant-)[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")


def masked(text: str) -> str:
    """Return the text with `***` for the user and password of each address in it, each `password=…` and API key.

    `redis://me:secret@host:6379/0` becomes `redis://***@host:6379/0`.
    """
    named = _NAMED.sub(rf"\1{_HIDDEN}", _USER.sub(f"{_HIDDEN}@", text))
    return _API_KEY.sub(rf"\1{_HIDDEN}", named) if "sonorant-" in named else named
