"""The file of API keys: `sonorant key` appends to it; the recognizer reads it when it starts, and when it changes."""

import asyncio
import os
import secrets
import stat
from datetime import UTC, date, datetime
from pathlib import Path

import structlog

from sonorant.atomic import refused
from sonorant.serving.api_keys import (
    SECRET_BYTES,
    ApiKey,
    ApiKeys,
    BadApiKeys,
    check_name,
    hashed,
    new_secret,
    parse_keys,
)
from sonorant.serving.errors import Unauthenticated

__all__ = ["KeyFile", "append_key", "is_over", "read_keys"]

log = structlog.get_logger()

_LOOK_EVERY_S = 2.0
_MOST_BYTES = 1 << 22  # some 40,000 keys
_Version = tuple[int, int, int, int, int]


class KeyFile:
    """The keys of the file `path`. Raises BadApiKeys if it cannot be used; a later one that cannot is not taken up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version = _version(path)
        self._keys = ApiKeys(read_keys(path))

    @property
    def names(self) -> set[str]:
        """Names of the keys."""
        return self._keys.names

    def caller(self, secret: str) -> ApiKey:
        """Return the key that a client sent; raises Unauthenticated. secret: empty: none was sent."""
        if not secret:
            raise Unauthenticated("no API key: expected `authorization: Bearer KEY`, or `x-goog-api-key: KEY`")
        return self._keys.find(secret, _today())

    def refresh(self) -> None:
        """Read the file if it has changed; one that cannot be used is logged once, and the keys stay as they are."""
        version = _version(self._path)
        if version == self._version:
            return
        self._version = version
        try:
            keys = read_keys(self._path)
        except BadApiKeys as error:
            log.error("api_keys_refused", reason=str(error), kept=len(self.names))
            return
        self._keys = ApiKeys(keys)
        log.info("api_keys_read", path=str(self._path), keys=len(keys))

    async def follow(self) -> None:
        """Refresh every two seconds."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            await asyncio.to_thread(self.refresh)


def read_keys(path: Path) -> list[ApiKey]:
    """Return the keys of a file; raises BadApiKeys if it has others' faults, or others may write it."""
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BadApiKeys(f"{path}: API keys cannot be read: {error.strerror}; `sonorant key` makes the file") from error
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BadApiKeys(f"{path}: mode {mode:04o}, others may write it: expected {mode & ~0o022:04o}; chmod go-w")
    if len(content) > _MOST_BYTES:
        raise BadApiKeys(f"{path}: more than {_MOST_BYTES} bytes: expected a line a key")
    try:
        return parse_keys(content.decode(), str(path))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadApiKeys(f"{path}, line {line}: byte {content[error.start]:#04x}: expected UTF-8") from None


def append_key(
    path: Path, name: str, streams: int | None = None, expires: date | None = None, *, admin: bool = False
) -> str:
    """Make a key, append its hash to a file, and return it; the file is made if it is not there.

    Raises BadApiKeys for a name or a file that cannot be used, and Unavailable if the file cannot be written.
    """
    check_name(name)
    if path.exists():
        read_keys(path)
    secret = new_secret(secrets.token_bytes(SECRET_BYTES))
    line = ApiKey(name, hashed(secret), streams, expires, admin=admin).line()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            whole = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
            file.write(f"{'' if whole else chr(10)}{line}\n".encode())  # in one write, as others may append
            os.fsync(descriptor)
    except OSError as error:
        raise refused(path, error) from error
    return secret


def is_over(expires: date) -> bool:
    """Return whether a key with this day of expiry is refused now."""
    return expires <= _today()


def _version(path: Path) -> _Version | None:
    """Return what changes with the file; None: it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


def _today() -> date:
    """Return the date in UTC, by the clock on the wall, as dates of expiry are."""
    return datetime.now(UTC).date()
