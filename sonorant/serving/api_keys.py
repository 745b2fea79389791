"""API keys of clients: random secrets, of which a file has name, hash and limits, a line each.

    # name    hash of the key     limits
    editors   sha256:9f86d0…      streams=20 expires=2027-01-31
    meetings  sha256:60303a…      disabled
    operator  sha256:1b4f0e…      admin

The hash is SHA-256, without a salt: a key has 256 random bits (`new_secret`), too many to be found by trials however
fast the hash is. Slow, salted hashes are for passwords, which are chosen by people and guessed from lists. A key is
looked up by its hash, so the time of a lookup depends on bytes that nobody can choose, and says nothing of other keys.

Several keys may have one name, as while one replaces another; their streams count together, and the least limit that
one of them has is the name's.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from sonorant.errors import SonorantError
from sonorant.serving.errors import Unauthenticated

__all__ = ["SECRET_BYTES", "ApiKey", "ApiKeys", "BadApiKeys", "check_name", "hashed", "new_secret", "parse_keys"]

SECRET_BYTES = 32
_PREFIX = "sonorant-"  # by which scanners of repositories find a key that has leaked
_SCHEME = "sha256:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_HASH = re.compile(_SCHEME + r"([0-9a-f]{64})")
_SHOWN = 20  # characters of a faulty field: it may be a key where its hash belongs
_LIMITS = "streams=NUMBER, expires=YEAR-MONTH-DAY, disabled, admin"
_MARKS = ("disabled", "admin")


class BadApiKeys(SonorantError):
    """A file of API keys that cannot be used; the message names file and line, and quotes no key."""

    exit_code = 78


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored.

    name: of its holder, in logs and metrics. digest: SHA-256, 32 bytes. streams: open at once; None: no limit of its
    own. expires: the first day (UTC) on which it is refused; None: none. admin: of an operator, who may set labels.
    """

    name: str
    digest: bytes
    streams: int | None = None
    expires: date | None = None
    disabled: bool = False
    admin: bool = False

    def line(self) -> str:
        """Return the key's line in a file, without its end."""
        fields = [self.name, _SCHEME + self.digest.hex()]
        fields += [f"streams={self.streams}"] if self.streams is not None else []
        fields += [f"expires={self.expires.isoformat()}"] if self.expires is not None else []
        return " ".join([*fields, *(mark for mark in _MARKS if getattr(self, mark))])


class ApiKeys:
    """The keys of a file; `streams` of each is the limit of its name."""

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        found = list(keys)
        limits: dict[str, int] = {}
        for key in found:
            if key.streams is not None:
                limits[key.name] = min(key.streams, limits.get(key.name, key.streams))
        self._keys = {key.digest: replace(key, streams=limits.get(key.name)) for key in found}

    @property
    def names(self) -> set[str]:
        """Names of the keys, those that are refused included."""
        return {key.name for key in self._keys.values()}

    def find(self, secret: str, today: date) -> ApiKey:
        """Return the key that a client sent; raises Unauthenticated. today: date in UTC."""
        key = self._keys.get(hashed(secret))
        if key is None:
            raise Unauthenticated("unknown API key")
        if key.disabled:
            raise Unauthenticated(f"API key {key.name!r}: disabled")
        if key.expires is not None and today >= key.expires:
            raise Unauthenticated(f"API key {key.name!r}: expired on {key.expires.isoformat()}")
        return key


def new_secret(random: bytes) -> str:
    """Return a key made of 32 random bytes: letters, digits, `-` and `_`, so that any header can carry it."""
    if len(random) != SECRET_BYTES:
        raise ValueError(f"{len(random)} random bytes, must be {SECRET_BYTES}")
    return _PREFIX + urlsafe_b64encode(random).rstrip(b"=").decode("ascii")


def hashed(secret: str) -> bytes:
    """Return the hash by which a key is stored and looked up, 32 bytes."""
    return hashlib.sha256(secret.encode("utf-8", errors="surrogateescape")).digest()


def check_name(name: str) -> str:
    """Return a key's name; raises BadApiKeys."""
    if not _NAME.fullmatch(name):
        raise BadApiKeys(
            f"name {name[:_SHOWN]!r}: expected 1 to 63 letters, digits, `.`, `_` or `-`, a letter or digit first"
        )
    return name


def parse_keys(text: str, source: str) -> list[ApiKey]:
    """Return the keys of a file's text; raises BadApiKeys, which names `source` and the line."""
    keys: dict[bytes, ApiKey] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        try:
            key = _parsed(fields)
            if key.digest in keys:
                raise BadApiKeys(f"the hash is that of {keys[key.digest].name!r}, too; expected each key once")
        except BadApiKeys as error:
            raise BadApiKeys(f"{source}, line {number}: {error}") from None
        keys[key.digest] = key
    return list(keys.values())


def _parsed(fields: list[str]) -> ApiKey:
    name = check_name(fields[0])
    found = _HASH.fullmatch(fields[1]) if len(fields) > 1 else None
    if found is None:
        what = f"{len(fields[1])} characters" if len(fields) > 1 else "nothing"
        raise BadApiKeys(f"{what} after the name {name!r}: expected {_SCHEME} and 64 hexadecimal digits (0-9, a-f)")
    limits: dict[str, str] = {}
    for field in fields[2:]:
        kind, _, value = field.partition("=")
        if kind not in ("streams", "expires", *_MARKS) or (kind in _MARKS) != ("=" not in field):
            raise BadApiKeys(f"{field[:_SHOWN]!r}: expected {_LIMITS}")
        if kind in limits:
            raise BadApiKeys(f"{kind}: twice; expected once")
        limits[kind] = value
    marks = [mark in limits for mark in _MARKS]
    return ApiKey(name, bytes.fromhex(found[1]), _streams(limits), _expires(limits), *marks)


def _streams(limits: dict[str, str]) -> int | None:
    if (value := limits.get("streams")) is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", value):
        raise BadApiKeys(f"streams={value[:_SHOWN]}: expected a number from 1 on")
    return int(value)


def _expires(limits: dict[str, str]) -> date | None:
    if (value := limits.get("expires")) is None:
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise BadApiKeys(f"expires={value[:_SHOWN]}: expected a date such as 2027-01-31") from None
