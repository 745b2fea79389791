"""Clients of Redis; errors and logs show its address, never the password."""

from typing import Any

import redis

from services.process.secrets import masked
from sonorant.errors import SonorantError

__all__ = ["BadRedisUrl", "open_redis"]


class BadRedisUrl(SonorantError):
    """A URL that names no Redis."""

    exit_code = 78


def open_redis(url: str, **options: Any) -> redis.Redis:
    """Return a client for `redis://[[USER]:PASSWORD@]HOST:PORT/0` or `unix:///path/to/socket`; it does not connect yet.

    Raises BadRedisUrl, which quotes no secret of the URL.
    """
    try:
        return redis.Redis.from_url(url, **options)
    except ValueError:  # which may quote a part of the password
        raise BadRedisUrl(
            f"Redis URL {masked(url)!r}: cannot be read; expected redis://HOST:PORT/0 or unix:///path/to/socket, with "
            "%2F, %3A and %40 in a password for / : and @"
        ) from None
