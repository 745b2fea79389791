"""The judge itself: what it takes for history, and that it sees what it must see."""

import json
from collections import defaultdict
from dataclasses import replace
from itertools import chain
from types import SimpleNamespace

import pytest
from chaos.corpus import write_run
from chaos.verdict import EpochVerdict, Expected, all_exact, judge, read_history, undisturbed
from rigs.ledger_calls import claim, commit

from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import MemoryLedger, Rejection
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


def test_a_smaller_gang_that_began_at_an_epochs_end_and_made_no_step_hides_nobody(tmp_path):
    write(tmp_path, 1, 0, at(0, 0), (0, 0, [0]), (0, 1, [1]))
    write(tmp_path, 1, 1, at(0, 0), (0, 0, [2]), (0, 1, [3]))
    write(tmp_path, 2, 0, at(2, 0, 2, 2), (1, 0, [0, 1]))
    write(tmp_path, 3, 0, at(2, 1, 0))
    history = read_history(tmp_path, Progress(step=2, epoch=1, batches=[0]))
    assert {epoch: sorted(o for o, _ in found) for epoch, found in history.items()} == {0: [0, 1, 2, 3]}


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
    (verdict,) = judge(history, SimpleNamespace(ledger=ledger.snapshot(1)), TOTAL, Expected(EXPECTED), 1)
    assert verdict.exact == (fault is None)
    if fault:
        assert getattr(verdict, fault) == culprits


def test_the_judge_compares_the_record_with_the_ledger():
    ledger = MemoryLedger(TOTAL)
    ledger.restore(1, None)
    history = defaultdict(list, {0: list(enumerate(EXPECTED[0]))})
    (verdict,) = judge(history, SimpleNamespace(ledger=ledger.snapshot(1)), TOTAL, Expected(EXPECTED), 1)
    assert verdict.unlike_ledger == [0, 1, 2, 3]


def test_a_run_that_rejected_what_it_should_not_is_not_exact_though_nothing_is_lost():
    ledger = MemoryLedger(TOTAL)
    ledger.restore(1, None)
    ledger.reject(1, 0, 3, Rejection(Lineage(0, 0, 3), "u3", "room", "silence"))
    claim(ledger, 1, 0, [0, 1, 2])
    commit(ledger, 1, 0, [0, 1, 2])
    history = defaultdict(list, {0: list(enumerate(EXPECTED[0][:3]))})
    (verdict,) = judge(history, SimpleNamespace(ledger=ledger.snapshot(1)), TOTAL, Expected(EXPECTED), 1)
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


def judged(seen, expected, rejected=()):
    """Judge an epoch whose ledger agrees with its record."""
    ledger = MemoryLedger(TOTAL)
    ledger.restore(1, None)
    for ordinal in rejected:
        ledger.reject(1, 0, ordinal, Rejection(Lineage(0, 0, ordinal), f"u{ordinal}", "shard_reader", "damaged"))
    claim(ledger, 1, 0, seen)
    commit(ledger, 1, 0, seen)
    history = defaultdict(list, {0: [(o, EXPECTED[0][o]) for o in seen]})
    (verdict,) = judge(history, SimpleNamespace(ledger=ledger.snapshot(1)), TOTAL, expected, 1)
    return verdict


def test_what_an_undisturbed_run_rejects_must_be_rejected_and_nothing_else():
    damaged = Expected([["a", None, "c", "d"]])
    assert judged([0, 2, 3], damaged, rejected=[1]).exact
    assert judged([0, 1, 2, 3], damaged).misjudged == [1]
    assert judged([0, 3], damaged, rejected=[1, 2]).misjudged == [2]
    assert judged([0, 2, 3], Expected(EXPECTED), rejected=[1]).misjudged == [1]
    assert judged([0, 2, 3], damaged).lost == [1]


def test_a_strict_run_is_judged_by_its_sequence():
    strict = Expected(EXPECTED, [[2, 0, 3, 1]])
    assert judged([2, 0, 3, 1], strict).exact
    assert judged([2, 3, 0, 1], strict).out_of_order == [1, 2]
    assert judged([2, 3, 0, 1], Expected(EXPECTED)).exact


def test_history_has_the_order_of_the_generations(tmp_path):
    write(tmp_path, 1, 0, at(0, 0), (0, 0, [3]), (0, 1, [1]))
    write(tmp_path, 2, 0, at(2, 0, 2), (0, 2, [0]), (0, 3, [2]))
    assert [o for o, _ in read_history(tmp_path, Progress(step=4, epoch=1, batches=[0]))[0]] == [3, 1, 0, 2]


def test_each_variant_says_what_it_expects(tmp_path):
    damaged = undisturbed(write_run(tmp_path / "damaged", 9, "damaged"), 1)
    assert [o for o, seen in enumerate(damaged.digests[0]) if seen is None] == [0, 7]
    strict, split, rounded = (
        undisturbed(write_run(tmp_path / name, 20, name), 2) for name in ("strict", "split", "rounded")
    )
    assert split.sequence is None
    assert [sorted(epoch) for epoch in strict.sequence] == [list(range(20))] * 2
    assert strict.sequence[0] != strict.sequence[1] != list(range(20))
    assert strict.digests == split.digests
    assert not set(chain.from_iterable(split.digests)) & set(chain.from_iterable(rounded.digests))
