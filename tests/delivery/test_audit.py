"""The audit finds lost examples and duplicates, in whichever record they show."""

import pytest
from rigs.ledger_calls import claim, commit

from sonorant.delivery.audit import audit
from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import MemoryLedger, Rejection
from sonorant.delivery.snapshot import LedgerSnapshot

TOTAL = 10


def snapshot(committed, rejected=()):
    """One set of ordinals an epoch, and rejections in epoch 0."""
    ledger = MemoryLedger(TOTAL)
    ledger.restore(1, None)
    for ordinal in rejected:
        ledger.reject(1, 0, ordinal, Rejection(Lineage(0, 0, ordinal), f"u{ordinal}", "room", "silence"))
    for epoch, ordinals in enumerate(committed):
        claim(ledger, 1, epoch, list(ordinals))
        commit(ledger, 1, epoch, list(ordinals))
    return LedgerSnapshot.decode(ledger.snapshot(1), TOTAL)


def test_epochs_that_are_whole_and_one_under_way_are_exact():
    found = audit(snapshot([range(1, 10), range(4)], rejected=[0]), 1, 13, {0: 9, 1: 4}, None)
    assert found.exact
    assert [(e.committed, e.rejected, e.trained, e.lost, e.left) for e in found.epochs] == [
        (9, 1, 9, 0, 0),
        (4, 0, 4, 0, 6),
    ]
    assert [r.utterance for r in found.rejections] == ["u0"]


def test_an_example_that_is_missing_in_an_epoch_that_is_over_is_lost():
    found = audit(snapshot([range(9)]), 1, 9, {0: 9}, None)
    assert not found.exact
    assert found.epochs[0].lost == 1


def test_an_epoch_of_which_the_ledger_knows_nothing_is_lost():
    assert audit(snapshot([]), 1, 0, None, None).epochs[0].lost == TOTAL


@pytest.mark.parametrize("by_epoch", [None, {0: 11}])
def test_a_step_on_more_examples_than_are_committed_used_one_twice(by_epoch):
    assert not audit(snapshot([range(10)]), 1, 11, by_epoch, None).exact


def test_one_epochs_surplus_does_not_make_up_for_anothers_lack():
    found = audit(snapshot([range(10), range(10)]), 2, 20, {0: 11, 1: 9}, None)
    assert not found.exact
    assert [(e.twice, e.unused) for e in found.epochs] == [(1, 0), (0, 1)]


def test_an_example_both_committed_and_rejected_is_a_contradiction():
    both = LedgerSnapshot(TOTAL)
    both.committed(0).add(range(10))
    both.rejected(0).add([3])
    assert audit(LedgerSnapshot.decode(both.encode(), TOTAL), 1, 10, {0: 10}, None).epochs[0].twice == 1


def test_copies_refused_by_the_ledger_and_dropped_by_ranks_are_added_up():
    events = {"reissued": {0: 7}, "refused": {0: 2, 1: 1}, "dropped": {0: 3}}
    found = audit(snapshot([range(10), range(2)]), 1, 12, None, events)
    assert [(e.reissued, e.duplicates_refused) for e in found.epochs] == [(7, 5), (0, 1)]
