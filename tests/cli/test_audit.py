"""`sonorant audit` on what a run leaves: checkpoint, metrics and the append-only file of a Redis that is gone."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from rigs.ledger_calls import claim, commit
from rigs.redis import RedisServer
from rigs.small_corpus import record

from services.coordination.redis_ledger import RedisLedger
from services.supervisor import past_run
from sonorant.cli.audit import command
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.delivery.audit import Audit, EpochAudit
from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import Rejection
from sonorant.errors import SonorantError
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress

TOTAL = 6


@pytest.fixture
def run(tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    run = RunFolder(tmp_path)
    run.shards.mkdir()
    run.recipe.touch()
    write_shard(run.shards / shard_name("train", 0, 1), [record(i) for i in range(TOTAL)])
    return run


def leave(run, trained):
    """Play one epoch of which a copy was refused and an example rejected; leave its files, and no process."""
    run.redis.mkdir()
    server = RedisServer(run.redis)
    server.start()
    ledger = RedisLedger(server.url, TOTAL)
    ledger.restore(1, None)
    ledger.reject(1, 0, 0, Rejection(Lineage(0, 0, 0), "u0", "room", "silence"))
    claim(ledger, 1, 0, [1, 2, 3, 4, 5])
    claim(ledger, 1, 0, [2, 3])
    commit(ledger, 1, 0, [1, 2, 3, 4, 5])
    ledger.count_events("reissued", {0: 3})
    ledger.restore(2, ledger.snapshot(1))  # what happened before a restart is not forgotten
    progress = Progress(step=2, epoch=1, examples=trained, batches=[0])
    weights = {"w": np.zeros(1, np.float32)}
    checkpoint = Checkpoint(progress, "f", weights, weights, weights, weights, ledger.snapshot(2))
    Checkpoints(run.checkpoints, 1, print).save(checkpoint, best=False)
    lines = [{"kind": "step", "step": s, "epoch": 0, "examples": n} for s, n in ((1, 3), (2, trained - 3), (3, 9))]
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ledger.close()
    server.kill()


def test_a_run_that_is_exact_is_told_from_what_it_left(run):
    leave(run, trained=5)
    result = CliRunner().invoke(command, [str(run.path), "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    (epoch,) = json.loads(result.output)["epochs"]
    expected = {
        "total": 6,
        "committed": 5,
        "rejected": 1,
        "trained": 5,
        "lost": 0,
        "reissued": 3,
        "duplicates_refused": 2,
    }
    assert expected.items() <= epoch.items()
    shown = CliRunner().invoke(command, [str(run.path)])
    assert "exactly once an epoch" in shown.output
    assert "(u0) at room: silence" in shown.output
    (last,) = shown.output.rstrip().splitlines()[-1:]
    assert last.startswith("each example exactly once an epoch, without 1 of 6 that were rejected: 5 committed, ")


def test_an_example_used_twice_ends_it_with_1(run):
    leave(run, trained=6)
    result = CliRunner().invoke(command, [str(run.path)])
    assert result.exit_code == 1
    assert "NOT exactly once" in result.output


def test_a_reader_that_goes_does_not_look_like_a_lost_example(run):
    leave(run, trained=5)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "sonorant.cli", "audit", run.path], stdout=writing, check=False)
    os.close(writing)
    assert done.returncode == 141


def test_a_run_without_a_checkpoint_is_named(run):
    with pytest.raises(SonorantError, match="no checkpoint"):
        CliRunner().invoke(command, [str(run.path)], catch_exceptions=False)


def test_damaged_lines_of_metrics_are_passed_over(run):
    leave(run, trained=5)
    run.metrics.write_bytes(b"5\n[]\n\xff\n" + run.metrics.read_bytes())
    assert CliRunner().invoke(command, [str(run.path)]).exit_code == 0


def test_an_append_only_file_that_redis_cannot_read_is_named_at_once(run):
    leave(run, trained=5)
    folder = run.redis / "appendonlydir"
    next(folder.glob("*.incr.aof")).write_bytes(b"garbage")
    result = CliRunner().invoke(command, [str(run.path)])
    assert result.exception.exit_code == 65
    assert f"{folder}: damaged: Redis ended" in str(result.exception)


def test_a_redis_that_is_away_is_named_without_its_password(run, monkeypatch):
    leave(run, trained=5)
    monkeypatch.setattr(past_run._query, "__defaults__", (0.0,))
    url = "redis://somebody:made-up@127.0.0.1:1/0"
    result = CliRunner().invoke(command, [str(run.path), "--redis", url])
    assert "Redis at redis://***@127.0.0.1:1/0 cannot be reached" in str(result.exception)
    assert "made-up" not in result.output + repr(result.exception)


def test_reasons_that_the_ledger_does_not_keep_are_not_passed_over_in_silence(run, monkeypatch):
    kept = Rejection(Lineage(0, 0, 0), "u0", "room", "silence")
    epoch = EpochAudit(0, TOTAL, 3, 3, 3, lost=0, left=0, twice=0, unused=0, reissued=0, duplicates_refused=0)
    found = Audit((epoch,), (kept,), committed=3, trained=3)
    monkeypatch.setattr("services.supervisor.past_run.audit_run", lambda *_: found)
    result = CliRunner().invoke(command, [str(run.path)], catch_exceptions=False)
    assert "of 3 rejections the ledger keeps the reasons of the first 1 only" in result.output


def test_steps_that_changed_nothing_are_told(run, monkeypatch):
    epoch = EpochAudit(0, TOTAL, 3, 0, 3, lost=0, left=0, twice=0, unused=0, reissued=0, duplicates_refused=0)
    found = Audit((epoch,), (), committed=3, trained=3, skipped_steps=2)
    monkeypatch.setattr("services.supervisor.past_run.audit_run", lambda *_: found)
    result = CliRunner().invoke(command, [str(run.path)], catch_exceptions=False)
    assert "2 steps were not finite, and changed no weights" in result.output
