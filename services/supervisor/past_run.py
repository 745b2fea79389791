"""Audit of a past run: its checkpoint, its metrics, and its Redis, running or only an append-only file."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from services.coordination.redis_ledger import RedisLedger
from sonorant.corpus.shards import ShardSet, not_here
from sonorant.delivery.audit import Audit, audit
from sonorant.delivery.snapshot import LedgerSnapshot
from sonorant.errors import BadRun, Unavailable
from sonorant.report.journal import read_journal
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoints import load_checkpoint

__all__ = ["audit_run"]

_EVENTS = ("reissued", "refused", "dropped")
_START_S = 30.0


def audit_run(run: RunFolder, redis_url: str = "") -> Audit:
    """Audit the history that the latest checkpoint stands for; changes nothing in the run.

    redis_url: the run's Redis; absent: the local one if it answers, else a copy of its append-only file.
    Raises BadCheckpoint if there is no checkpoint, or it is damaged, and BadSnapshot if it is of another corpus.
    """
    total = ShardSet.open(run.shards, "train", not_here).total
    checkpoint = load_checkpoint(run.checkpoints, "latest")
    progress = checkpoint.progress
    by_epoch = _trained_by_epoch(run.metrics, progress.step)
    if by_epoch is not None and sum(by_epoch.values()) != progress.examples:
        by_epoch = None  # metrics.jsonl is not of this history, or not whole
    snapshot = LedgerSnapshot.decode(checkpoint.ledger, total)
    events = _events(run, redis_url, total)
    return audit(snapshot, progress.epoch, progress.examples, by_epoch, events, progress.skipped_steps)


def _trained_by_epoch(metrics: Path, last_step: int) -> dict[int, int] | None:
    if not metrics.is_file():
        return None
    counts: dict[int, int] = {}
    for line in read_journal(metrics)["step"]:
        if line["step"] <= last_step:
            counts[line["epoch"]] = counts.get(line["epoch"], 0) + line["examples"]
    return counts


def _events(run: RunFolder, redis_url: str, total: int) -> dict[str, dict[int, int]] | None:
    if redis_url:
        return _query(redis_url, total)
    socket = run.redis.absolute() / "redis.sock"
    try:
        return _query(f"unix://{socket}", total, patience_s=0.0)
    except Unavailable:
        pass
    if not (run.redis / "appendonlydir").is_dir() or shutil.which("redis-server") is None:
        return None
    with _revived(run.redis / "appendonlydir") as url:
        return _query(url, total)


def _query(url: str, total: int, patience_s: float = _START_S) -> dict[str, dict[int, int]]:
    ledger = RedisLedger(url, total, start_patience_s=patience_s, patience_s=patience_s)
    try:
        return {event: ledger.events(event) for event in _EVENTS}
    finally:
        ledger.close()


def _wait_ready(url: str, process: subprocess.Popen[bytes], append_only: Path) -> str:
    deadline = time.monotonic() + _START_S
    client = redis.Redis.from_url(url)
    while True:
        try:
            client.ping()
        except redis.ConnectionError as error:
            if process.poll() is not None:
                raise BadRun(f"{append_only}: damaged: Redis ended, which cannot read it") from error
            if time.monotonic() > deadline:
                raise Unavailable(f"{append_only}: Redis has not read it after {_START_S:g} s ({error})") from error
            time.sleep(0.05)
        else:
            client.close()
            return url


@contextmanager
def _revived(append_only: Path) -> Iterator[str]:
    """Yield the address of a Redis that has read a copy of an append-only file."""
    with tempfile.TemporaryDirectory(prefix="sonorant-audit-") as folder:
        shutil.copytree(append_only, Path(folder) / "appendonlydir")
        arguments = ["--port", "0", "--unixsocket", f"{folder}/redis.sock", "--dir", folder, "--appendonly", "yes"]
        process = subprocess.Popen(["redis-server", *arguments, "--save", ""], stdout=subprocess.DEVNULL)
        try:
            yield _wait_ready(f"unix://{folder}/redis.sock", process, append_only)
        finally:
            process.kill()
            process.wait()
