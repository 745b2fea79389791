"""The API key that this process sends to recognizers: in `SONORANT_API_KEY`, or in a file.

It is never an argument of a command: every user of the machine can read those.
"""

import os
import re
from pathlib import Path

from sonorant.errors import SonorantError

__all__ = ["API_KEY_VARIABLE", "BadApiKey", "check_api_key", "process_api_key", "read_api_key"]

API_KEY_VARIABLE = "SONORANT_API_KEY"
_SENDABLE = re.compile(r"[!-~]*")  # what a header may hold


class BadApiKey(SonorantError):
    """An API key that cannot be sent, or is refused; the message does not quote it."""

    exit_code = 77


def process_api_key() -> str:
    """Return the key in `SONORANT_API_KEY`; empty: there is none. Raises BadApiKey."""
    return check_api_key(os.environ.get(API_KEY_VARIABLE, ""), API_KEY_VARIABLE)


def read_api_key(path: Path) -> str:
    """Return the key that is a file's only line; raises BadApiKey."""
    try:
        found = path.read_text(encoding="latin-1").strip()
    except OSError as error:
        raise BadApiKey(f"{path}: the API key cannot be read: {error.strerror}") from error
    if not found:
        raise BadApiKey(f"{path}: empty, expected an API key, as `sonorant key` prints it")
    return check_api_key(found, str(path))


def check_api_key(secret: str, source: str) -> str:
    """Return a key without the white space around it; raises BadApiKey, naming `source`, if no header can hold it."""
    secret = secret.strip()
    if not _SENDABLE.fullmatch(secret):
        raise BadApiKey(f"{source}: {len(secret)} characters, spaces or others than ASCII's among them: no API key")
    return secret
