"""The ledger in Redis: what survives the death of everything else.

Keys, below a prefix: `meta` (hash: generation, where it started, and whose writes were lost), `writes` (hash client →
how many in the generation), `events` (hash event:epoch → how often, in all generations), `epochs` (set), `counts`
(hash committed:E and rejected:E), `reasons` (hash epoch:ordinal → JSON), and for each epoch under way `committed:E`
and `rejected:E` (bitmaps) and `claims:E` (hash ordinal → token). `past` (hash) has the epochs that are whole: which of
their examples were rejected, compressed; all others are committed.
Every call is one Lua script, so it is atomic and costs one round trip. Scripts find the keys of an epoch by their
prefix, so the ledger needs a single Redis, not a Redis cluster.
"""

import threading
import time
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

from services.coordination.redis_scripts import SCRIPTS
from services.coordination.redis_url import open_redis
from services.process.backoff import Backoff
from services.process.outage import Outage
from services.process.secrets import masked
from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.ledger import (
    REASONS_KEPT,
    LedgerConflict,
    LedgerLost,
    LedgerProgress,
    Receipt,
    Rejection,
    StaleGeneration,
    check_ordinals,
)
from sonorant.delivery.snapshot import LedgerSnapshot
from sonorant.errors import Unavailable

__all__ = ["RedisLedger", "Start"]

_log = structlog.get_logger(__name__)
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0


class Start(NamedTuple):
    """Where a generation started leasing; a restarted coordinator resumes there."""

    generation: int
    epoch: int
    last_epoch: int
    complete: bool = False  # training has ended since, perhaps before the last epoch


class RedisLedger:
    """`sonorant.delivery.ledger.Ledger` on a Redis; safe to call from several threads.

    url: `unix:///path/to/socket` or `redis://host:port/0`. total: examples in an epoch.
    start_patience_s, patience_s: how long the first call, and each later one, tries to reach Redis before it raises
    `Unavailable`. A call that is tried again changes nothing twice: it carries the token of its first attempt.
    """

    def __init__(
        self,
        url: str,
        total: int,
        *,
        prefix: str = "sonorant",
        start_patience_s: float = 10.0,
        patience_s: float = 60.0,
    ) -> None:
        self._where = masked(url)
        self._outage = Outage()
        self._total = total
        self._prefix = prefix
        self._patience_s = patience_s
        self._give_up_s = float("inf")
        self._redis = open_redis(
            url, socket_timeout=5, socket_connect_timeout=5, retry=Retry(NoBackoff(), 0), health_check_interval=0
        )
        self._receipt = Receipt(uuid.uuid4().hex)
        self._receipt_lock = threading.Lock()
        self._scripts = {name: self._redis.register_script(text) for name, text in SCRIPTS.items()}
        self._retrying(self._redis.ping, start_patience_s)

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    def generation(self) -> int:
        """See `Ledger`."""
        return int(self._retrying(lambda: self._redis.hget(f"{self._prefix}:meta", "generation")) or 0)

    def commit_and_claim(
        self,
        generation: int,
        committed: tuple[int, Sequence[int]],
        claimed: tuple[int, Sequence[int]],
        token: str | None = None,
    ) -> list[bool]:
        """See `Ledger`."""
        check_ordinals([*committed[1], *claimed[1]], self._total)
        arguments = [token or uuid.uuid4().hex, committed[0], len(committed[1]), *committed[1]]
        answer = self._fenced("step", generation, *arguments, claimed[0], *claimed[1])
        if answer[0] == b"unclaimed":
            raise LedgerConflict(committed[0], [int(ordinal) for ordinal in answer[1:]])
        if answer[0] == b"past":  # a commit that comes again
            if wrong := [o for o, r in zip(committed[1], self.rejected(*committed), strict=True) if r]:
                raise LedgerConflict(committed[0], wrong)
            return self.commit_and_claim(generation, (committed[0], ()), claimed, token)
        return [bool(granted) for granted in answer[2:]]

    def reject(self, generation: int, epoch: int, ordinal: int, rejection: Rejection) -> bool:
        """See `Ledger`."""
        check_ordinals([ordinal], self._total)
        _, _, done = self._fenced("reject", generation, epoch, ordinal, rejection.to_json(), REASONS_KEPT)
        return self.rejected(epoch, [ordinal])[0] if done == b"past" else bool(done)

    def verify(self, generation: int) -> None:
        """See `Ledger`."""
        self._fenced("verify", generation)

    def receipt(self) -> Receipt:
        """See `Ledger`."""
        return self._receipt

    def progress(self, epoch: int) -> LedgerProgress:
        """See `Ledger`."""
        claimed, committed, rejected = self._call("progress", epoch)
        return LedgerProgress(self._total, claimed, committed, rejected)

    def rejections(self) -> list[Rejection]:
        """See `Ledger`."""
        reasons = self._retrying(lambda: self._redis.hgetall(f"{self._prefix}:reasons"))
        return [Rejection.from_json(reasons[name]) for name in sorted(reasons, key=_epoch_and_ordinal)]

    def rejected(self, epoch: int, ordinals: Sequence[int]) -> list[bool]:
        """See `Ledger`."""
        check_ordinals(ordinals, self._total)
        answer = self._call("rejected", epoch, *ordinals)
        if answer == b"past":
            _, rejected = self._bitmaps(*self._call("bitmaps", epoch))
            answer = rejected.has(ordinals).tolist()
        return [bool(flag) for flag in answer]

    def epochs(self) -> list[int]:
        """See `Ledger`."""
        return sorted(int(epoch) for epoch in self._retrying(lambda: self._redis.smembers(f"{self._prefix}:epochs")))

    def settled(self, epoch: int) -> Bitmap:
        """See `Ledger`."""
        committed, rejected = self._bitmaps(*self._call("bitmaps", epoch))
        return committed | rejected

    def snapshot(self, generation: int, receipts: Sequence[Receipt] = ()) -> bytes:
        """See `Ledger`; an epoch that is found to be whole moves to `past`."""
        others = [item for r in receipts if r.generation == generation for item in (r.client, r.writes)]
        _, _, found, reasons = self._fenced("snapshot", generation, *others)
        state = LedgerSnapshot(self._total)
        for name, committed, rejected, past in zip(found[0::4], found[1::4], found[2::4], found[3::4], strict=True):
            epoch = int(name)
            if past is None:
                state.put(epoch, Bitmap(self._total, committed), Bitmap(self._total, rejected))
                if (past := state.past(epoch)) is not None:
                    self._fenced("retire", generation, epoch, past)
            if past is not None:
                state.put_past(epoch, past)
        for name, line in zip(reasons[0::2], reasons[1::2], strict=True):
            state.reasons[_epoch_and_ordinal(name)] = Rejection.from_json(line)
        return state.encode()

    def restore(self, generation: int, snapshot: bytes | None) -> None:
        """See `Ledger`."""
        state = LedgerSnapshot(self._total) if snapshot is None else LedgerSnapshot.decode(snapshot, self._total)
        epochs: list[bytes | int] = []
        for epoch in state.epochs():
            committed, rejected, past = state.committed(epoch), state.rejected(epoch), state.past(epoch)
            bits = (committed.packed(), rejected.packed()) if past is None else (b"", past)
            epochs += [epoch, int(past is not None), committed.count(), rejected.count(), *bits]
        reasons: list[bytes | str] = []
        for (epoch, ordinal), rejection in state.reasons.items():
            reasons += [f"{epoch}:{ordinal}", rejection.to_json()]
        begun, current = self._call("restore", generation, uuid.uuid4().hex, len(epochs), *epochs, *reasons)
        if not begun:
            raise StaleGeneration(generation, current)

    def remember_start(self, start: Start) -> None:
        """Keep where the generation started leasing, for a coordinator that has to start again.

        Raises StaleGeneration if the ledger is in another one: what is kept is that one's.
        """
        self._fenced("start", start.generation, ":".join(str(int(number)) for number in start))

    def last_start(self) -> Start | None:
        """Return where the current generation started leasing; None if it has not, or there is none."""
        generation, start = self._retrying(lambda: self._redis.hmget(f"{self._prefix}:meta", "generation", "start"))
        if generation is None or start is None:
            return None
        begun, epoch, last_epoch, *complete = (int(number) for number in start.split(b":"))
        return Start(begun, epoch, last_epoch, complete == [1]) if begun == int(generation) else None

    def count_events(self, event: str, counts: Mapping[int, int]) -> None:
        """Add to how often an event happened in each epoch; no restart forgets it.

        A call that is tried again may count twice: events are figures, not part of the proof.
        """
        for epoch, count in counts.items():
            self._retrying(partial(self._redis.hincrby, f"{self._prefix}:events", f"{event}:{epoch}", count))

    def events(self, event: str) -> dict[int, int]:
        """Return how often an event happened in each epoch: "refused" claims, and what the coordinator counts."""
        counts = self._retrying(lambda: self._redis.hgetall(f"{self._prefix}:events"))
        named = [(*name.decode().split(":"), int(count)) for name, count in counts.items()]
        return {int(epoch): count for name, epoch, count in named if name == event}

    def _bitmaps(self, committed: bytes, rejected: bytes, past: bytes | None) -> tuple[Bitmap, Bitmap]:
        """Return the committed and the rejected examples of an epoch, of which Redis has this."""
        if past is None:
            return Bitmap(self._total, committed), Bitmap(self._total, rejected)
        of_past = Bitmap(self._total, zlib.decompress(past))
        return of_past.inverted(), of_past

    def hurry(self, patience_s: float) -> None:
        """Limit all waits for Redis, also of the call under way in another thread, to `patience_s` from now.

        After SIGTERM there is little time, and Redis may be terminating as well.
        """
        self._give_up_s = time.monotonic() + patience_s

    def _fenced(self, name: str, generation: int, *arguments: Any) -> Any:
        """Call a script that refuses all generations but the current one, and any whose writes were lost."""
        client, counted, writes = self._receipt
        answer = self._call(name, generation, client, writes if counted == generation else 0, *arguments)
        if answer[0] == b"other":
            current = int(answer[1])
            stale = generation < current
            raise StaleGeneration(generation, current) if stale else LedgerLost.of_generation(generation, current)
        if answer[0] == b"lost":
            loser, acknowledged, found = answer[1].decode().split(":")
            raise LedgerLost.of_writes(loser, int(acknowledged), int(found))
        if answer[0] == b"ok":
            with self._receipt_lock:  # of two threads' answers, and of two generations', the later one counts
                self._receipt = max(self._receipt, Receipt(client, generation, answer[1]))
        return answer

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._retrying(lambda: self._scripts[name](keys=[self._prefix], args=list(arguments)))

    def _retrying(self, attempt: Callable[[], Any], patience_s: float | None = None) -> Any:
        """Return what `attempt` returns, trying again with growing pauses while Redis is away or refuses to write."""
        patience_s = self._patience_s if patience_s is None else patience_s
        deadline, backoff = time.monotonic() + patience_s, Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while True:
            try:
                answer = attempt()
                if self._outage.lasts and (away_s := self._outage.ended(time.monotonic())) is not None:
                    _log.info("redis_back", address=self._where, away_s=round(away_s, 1))
                return answer
            except (redis.ConnectionError, redis.TimeoutError) as error:
                trouble, advice = (
                    f"cannot be reached ({masked(str(error))})",
                    "check that it runs and that the address is right",
                )
            except redis.ResponseError as error:
                if not _refuses_writes(error):
                    raise
                trouble = f"refuses to write ({error})"
                advice = "free space on its disk, or raise its maxmemory; nothing is lost, the same command goes on"
            if time.monotonic() + backoff.next_s > min(deadline, self._give_up_s):
                raise Unavailable(f"Redis at {self._where} {trouble}, tried for {patience_s:g} s; {advice}")
            if self._outage.failed(time.monotonic()):
                _log.warning("redis_away", address=self._where, error=trouble)
            time.sleep(backoff.pause_s())


def _refuses_writes(error: redis.ResponseError) -> bool:
    """Whether disk or memory is exhausted: then a script has changed nothing, and may succeed later."""
    return isinstance(error, redis.OutOfMemoryError) or any(why in str(error) for why in ("MISCONF", "OOM command"))


def _epoch_and_ordinal(name: bytes) -> tuple[int, int]:
    epoch, ordinal = name.split(b":")
    return int(epoch), int(ordinal)
