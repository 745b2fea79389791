"""The gang's board in Redis: one hash, so that a read is atomic; apart from the ledger's keys.

Fields: `rank:R`, the announcement of rank R; `generation`, the latest, and `number`, its number; `version`,
which changes with every write, so that a thousand launchers poll often and read only changes.
"""

import json
import uuid
from dataclasses import asdict

from services.coordination.redis_url import open_redis
from sonorant.fleet.gang import Announcement, Board, Generation

__all__ = ["RedisBoard"]

_READ = """
if (redis.call('HGET', KEYS[1], 'version') or '') == ARGV[1] then return false end
return redis.call('HGETALL', KEYS[1])
"""
_ANNOUNCE = "return redis.call('HSET', KEYS[1], 'rank:' .. ARGV[2], ARGV[3], 'version', ARGV[1])"
_BEGIN = """
if tonumber(redis.call('HGET', KEYS[1], 'number') or 0) ~= ARGV[2] - 1 then return 0 end
redis.call('HSET', KEYS[1], 'number', ARGV[2], 'generation', ARGV[3], 'version', ARGV[1])
return 1
"""


class RedisBoard:
    """Each call is one round trip and raises `redis.RedisError` if Redis is unavailable; callers retry."""

    def __init__(self, url: str, key: str = "sonorant-gang") -> None:
        self._redis = open_redis(url, socket_timeout=5, socket_connect_timeout=5)
        self._key = key
        self._read, self._announce, self._begin = map(self._redis.register_script, (_READ, _ANNOUNCE, _BEGIN))
        self._version = b""
        self._board = Board()

    def read(self) -> Board:
        """Return the board's content."""
        found = self._read(keys=[self._key], args=[self._version])
        if found is not None:
            fields = dict(zip(found[0::2], found[1::2], strict=True))
            self._board = _parse(fields)
            self._version = fields.get(b"version", b"")
        return self._board

    def announce(self, rank: int, announcement: Announcement) -> None:
        """Write a launcher's announcement over its last one."""
        self._announce(keys=[self._key], args=[uuid.uuid4().hex, rank, json.dumps(asdict(announcement))])

    def begin(self, generation: Generation) -> bool:
        """Write a generation if its number is the next one; return whether it was written."""
        text = json.dumps(asdict(generation))
        return bool(self._begin(keys=[self._key], args=[uuid.uuid4().hex, generation.number, text]))

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


def _parse(fields: dict[bytes, bytes]) -> Board:
    announced = {
        int(name.removeprefix(b"rank:")): Announcement(**json.loads(text))
        for name, text in fields.items()
        if name.startswith(b"rank:")
    }
    if b"generation" not in fields:
        return Board(None, announced)
    begun = json.loads(fields[b"generation"])
    return Board(Generation(begun["number"], begun["rendezvous"], tuple(begun["tokens"])), announced)
