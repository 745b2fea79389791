import tracemalloc

import numpy as np
import pytest
from rigs.ledger_calls import claim, commit

from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import REASONS_KEPT, LedgerConflict, MemoryLedger, Rejection, StaleGeneration
from sonorant.delivery.snapshot import BadSnapshot, LedgerSnapshot

OLD_SNAPSHOT = (
    "534e524c45444731512b4b73789cab606060a8562ac92f49cc51b2523034d251504a2dc84fce2806f2a20d74140c75148c62"
    "818245a989c5f979605190b0395008481be898ebc428959ac72801a9a2fcfc5c30a32ab5285fa13831b72027b5584721b5a2"
    "2035b924354521b1442107684a8982618c52ac526c6c6ddd874686fd1b1c1c7e00dd00000a4d28cd"
)


@pytest.fixture
def ledger():
    ledger = MemoryLedger(10)
    ledger.restore(1, None)
    return ledger


def rejection(ordinal):
    return Rejection(Lineage(0, 0, ordinal), f"u{ordinal}", "room", "zero samples, expected at least 1")


def test_a_second_copy_is_refused_whether_claimed_or_committed(ledger):
    assert claim(ledger, 1, 0, [1, 2, 1]) == [True, True, False]
    assert claim(ledger, 1, 0, [2]) == [False]
    commit(ledger, 1, 0, [1, 2])
    assert claim(ledger, 1, 0, [1, 2, 3]) == [False, False, True]


def test_the_same_example_is_free_again_in_the_next_epoch(ledger):
    assert claim(ledger, 1, 0, [1]) == [True]
    assert claim(ledger, 1, 1, [1]) == [True]


def test_a_commit_without_a_claim_is_refused_whole(ledger):
    claim(ledger, 1, 0, [1])
    with pytest.raises(LedgerConflict, match="never claimed"):
        commit(ledger, 1, 0, [1, 2])
    assert ledger.progress(0).committed == 0


def test_a_rejected_example_is_never_granted_and_a_claimed_one_never_rejected(ledger):
    claim(ledger, 1, 0, [1])
    assert not ledger.reject(1, 0, 1, rejection(1))
    assert ledger.reject(1, 0, 2, rejection(2))
    assert claim(ledger, 1, 0, [2]) == [False]
    assert ledger.rejections() == [rejection(2)]


def test_restore_returns_to_the_snapshot_and_forgets_claims(ledger):
    claim(ledger, 1, 0, [1, 2])
    commit(ledger, 1, 0, [1])
    ledger.reject(1, 0, 5, rejection(5))
    snapshot = ledger.snapshot(1)
    commit(ledger, 1, 0, [2])
    ledger.restore(2, snapshot)
    assert np.flatnonzero(ledger.settled(0).flags()).tolist() == [1, 5]
    assert claim(ledger, 2, 0, [1, 2, 5]) == [False, True, False]
    assert ledger.rejections() == [rejection(5)]


def test_an_older_gang_is_fenced_off(ledger):
    ledger.restore(2, None)
    with pytest.raises(StaleGeneration, match="generation 1: the ledger is in generation 2"):
        claim(ledger, 1, 0, [1])
    with pytest.raises(StaleGeneration):
        commit(ledger, 1, 0, [])
    with pytest.raises(StaleGeneration):
        ledger.snapshot(1)
    with pytest.raises(StaleGeneration):
        ledger.restore(2, None)


def test_all_rejections_count_but_only_the_first_keep_their_reason():
    ledger = MemoryLedger(REASONS_KEPT + 5)
    ledger.restore(1, None)
    for ordinal in range(REASONS_KEPT + 5):
        ledger.reject(1, 0, ordinal, rejection(ordinal))
    assert ledger.progress(0).rejected == REASONS_KEPT + 5
    assert len(ledger.rejections()) == REASONS_KEPT


def snapshot_of(epochs, total=1_000_000):
    snapshot = LedgerSnapshot(total)
    for epoch in range(epochs):
        snapshot.rejected(epoch).add([epoch, 2 * epoch + 7])
        snapshot.put(epoch, snapshot.rejected(epoch).inverted(), snapshot.rejected(epoch))
    snapshot.committed(epochs).add(range(5))
    return snapshot


def content(snapshot):
    return {e: (snapshot.committed(e).packed(), snapshot.rejected(e).packed()) for e in snapshot.epochs()}


def test_an_epoch_that_is_whole_adds_what_was_rejected_to_a_snapshot_and_to_memory():
    small, large = snapshot_of(1).encode(), snapshot_of(101).encode()
    assert (len(large) - len(small)) / 100 < 200  # of two bitmaps of 125,000 bytes
    back = LedgerSnapshot.decode(large, 1_000_000)
    assert content(back) == content(snapshot_of(101))
    assert back.encode() == large
    tracemalloc.start()
    LedgerSnapshot.decode(large, 1_000_000)
    growth = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert growth < 4 * 125_000  # only the epoch under way has bitmaps


def test_a_snapshot_from_before_epochs_had_a_past_is_read():
    """As versions up to 22 wrote it: both bitmaps of all epochs, 12 examples each."""
    data = bytes.fromhex(OLD_SNAPSHOT)
    back = LedgerSnapshot.decode(data, 12)
    assert content(back) == content(snapshot_of(2, 12))
    assert back.reasons == {(0, 7): rejection(7)}
    assert LedgerSnapshot.decode(back.encode(), 12).encode() == back.encode()
    ledger = MemoryLedger(12)
    ledger.restore(1, data)
    assert claim(ledger, 1, 2, [4, 5]) == [False, True]


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"SNRLEDG1\0\0\0\0rest"])
def test_a_damaged_snapshot_is_named(ledger, damage):
    with pytest.raises(BadSnapshot, match="use another checkpoint"):
        ledger.restore(2, damage)
    assert ledger.generation() == 1


def test_a_snapshot_of_another_corpus_is_named(ledger):
    with pytest.raises(BadSnapshot, match="of 10 examples, but the shards hold 12"):
        MemoryLedger(12).restore(1, ledger.snapshot(1))
