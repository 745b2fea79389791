"""The judge itself: what it takes for history, and that it sees what it must see."""

import json
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import pytest
from chaos.verdict import EpochVerdict, all_exact, judge, read_history
from ledger_calls import claim, commit

from sonorant.pipeline.example import Lineage
from sonorant.pipeline.ledger import MemoryLedger, Rejection
from sonorant.training.checkpoints import Progress

TOTAL = 4
EXPECTED = [["a", "b", "c", "d"]]


def write(folder, generation, rank, start, *batches):
    lines = [{"start": start, "size": 2}]
    lines += [{"epoch": e, "number": n, "ordinals": o, "digests": [EXPECTED[0][i] for i in o]} for e, n, o in batches]
    path = folder / f"{generation:06d}.{rank}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def at(step, epoch, *batches):
    return {"step": step, "epoch": epoch, "batches": list(batches)}


def test_what_a_generation_did_after_the_checkpoint_that_the_next_began_from_is_no_history(tmp_path):
    write(tmp_path, 1, 0, at(0, 0), (0, 0, [0]), (0, 1, [1]))
    write(tmp_path, 1, 1, at(0, 0), (0, 0, [2]), (0, 1, [3]))
    write(tmp_path, 2, 0, at(1, 0, 1, 1), (0, 0, [1, 3]))  # of one rank: it counts its batches anew
    write(tmp_path, 3, 0, at(1, 0, 1, 1), (0, 0, [3, 1]))
    history = read_history(tmp_path, Progress(step=2, epoch=1, batches=[0]))
    assert sorted(o for o, _ in history[0]) == [0, 1, 2, 3]


def test_a_generation_that_left_no_checkpoint_is_no_history(tmp_path):
    write(tmp_path, 1, 0, at(0, 0), (0, 0, [0]))
    write(tmp_path, 2, 0, at(0, 0), (0, 0, [1]))
    history = read_history(tmp_path, Progress(step=1, epoch=0, batches=[1]))
    assert [o for o, _ in history[0]] == [1]


@pytest.mark.parametrize(
    ("seen", "fault", "culprits"),
    [
        ("0a 1b 2c 3d", None, []),
        ("0a 1b 2c", "lost", [3]),
        ("0a 1b 2c 3d 2c", "twice", [2]),
        ("0a 1x 2c 3d", "changed", [1]),
    ],
)
def test_the_judge_names_what_is_wrong(seen, fault, culprits):
    history = defaultdict(list, {0: [(int(name[0]), name[1]) for name in seen.split()]})
    ledger = MemoryLedger(TOTAL)
    ledger.restore(1, None)
    ordinals = sorted({o for o, _ in history[0]})
    claim(ledger, 1, 0, ordinals)
    commit(ledger, 1, 0, ordinals)
    (verdict,) = judge(history, SimpleNamespace(ledger=ledger.snapshot(1)), TOTAL, EXPECTED, 1)
    assert verdict.exact == (fault is None)
    if fault:
        assert getattr(verdict, fault) == culprits


def test_the_judge_compares_the_record_with_the_ledger():
    ledger = MemoryLedger(TOTAL)
    ledger.restore(1, None)
    history = defaultdict(list, {0: list(enumerate(EXPECTED[0]))})
    (verdict,) = judge(history, SimpleNamespace(ledger=ledger.snapshot(1)), TOTAL, EXPECTED, 1)
    assert verdict.unlike_ledger == [0, 1, 2, 3]


def test_a_run_that_rejected_anything_is_not_exact_though_nothing_is_lost():
    ledger = MemoryLedger(TOTAL)
    ledger.restore(1, None)
    ledger.reject(0, 3, Rejection(Lineage(0, 0, 3), "u3", "room", "silence"))
    claim(ledger, 1, 0, [0, 1, 2])
    commit(ledger, 1, 0, [0, 1, 2])
    history = defaultdict(list, {0: list(enumerate(EXPECTED[0][:3]))})
    (verdict,) = judge(history, SimpleNamespace(ledger=ledger.snapshot(1)), TOTAL, EXPECTED, 1)
    assert (verdict.rejected, verdict.lost, verdict.unlike_ledger) == (1, [], [])
    assert not verdict.exact


def exact_epoch(epoch):
    return EpochVerdict(epoch, TOTAL, committed=TOTAL, rejected=0)


def test_a_run_is_exact_if_all_its_epochs_are_and_none_is_missing():
    assert all_exact([exact_epoch(0), exact_epoch(1)], 2)
    assert not all_exact([exact_epoch(0)], 2)
    assert not all_exact([exact_epoch(0), exact_epoch(2)], 2)
    assert not all_exact([], 1)
    assert not all_exact([exact_epoch(0), replace(exact_epoch(1), lost=[3])], 2)
