"""A Redis that comes back without its last writes: its writers get an error, and a new generation mends it."""

import itertools

import pytest
from rigs.ledger_calls import claim, commit, rejection

from services.coordination.redis_ledger import RedisLedger
from services.process.restarts import FINAL_CODES
from sonorant.delivery.ledger import LedgerLost

TOTAL = 11


class Log:
    """The append-only file of a Redis, of which the end can be lost."""

    def __init__(self, server):
        self._server = server

    @property
    def _file(self):
        (file,) = self._server.folder.glob("appendonlydir/*.incr.aof")
        return file

    def length(self):
        return self._file.stat().st_size

    def cut_off(self, length):
        self._server.kill()
        with self._file.open("r+b") as file:
            file.truncate(length)
        self._server.start()


@pytest.fixture
def log(own_redis):
    return Log(own_redis)


@pytest.fixture
def ranks(own_redis):
    ledgers = [RedisLedger(own_redis.url, TOTAL) for _ in range(2)]
    ledgers[0].restore(1, None)
    yield ledgers
    for ledger in ledgers:
        ledger.close()


def flush(rank, ordinals):
    commit(rank, 1, 0, ordinals)
    return rank.receipt()


def test_a_commit_after_lost_claims_ends_with_a_code_that_starts_the_gang_again(ranks, log):
    snapshot = ranks[0].snapshot(1)
    length = log.length()
    assert claim(ranks[0], 1, 0, [1, 2, 3]) == [True] * 3
    log.cut_off(length)
    with pytest.raises(LedgerLost, match=r"1 of 1 acknowledged writes of \w+ are lost: .*truncated log") as caught:
        commit(ranks[0], 1, 0, [1, 2, 3])
    assert caught.value.exit_code not in FINAL_CODES
    ranks[0].restore(2, snapshot)
    assert claim(ranks[0], 2, 0, [1, 2, 3]) == [True] * 3
    commit(ranks[0], 2, 0, [1, 2, 3])
    assert ranks[0].progress(0).committed == 3


def test_a_snapshot_without_another_rank_s_last_commit_is_refused(ranks, log):
    """Only its receipt shows it: all calls of the rank that takes the snapshot are there."""
    for rank, ordinals in zip(ranks, ([1, 2], [3, 4]), strict=True):
        claim(rank, 1, 0, ordinals)
    first, length = flush(ranks[0], [1, 2]), log.length()
    second = flush(ranks[1], [3, 4])
    log.cut_off(length)
    ranks[0].verify(1)
    with pytest.raises(LedgerLost, match=f"1 of 2 acknowledged writes of {second.client} are lost"):
        ranks[0].snapshot(1, [first, second])
    with pytest.raises(LedgerLost):  # now it is known, no call of the generation is answered
        ranks[0].snapshot(1, [first])


def test_wherever_the_log_is_cut_off_what_was_acknowledged_is_missed(ranks, log, own_redis):
    """A step, a rejection or a flush, of either rank, is there whole or its loss is found by the next snapshot."""
    lengths = [log.length()]
    for call in (
        lambda: claim(ranks[0], 1, 0, [1, 2]),
        lambda: claim(ranks[1], 1, 0, [3, 4]),
        lambda: ranks[1].reject(1, 0, 5, rejection(0, 5)),
        lambda: ranks[0].commit_and_claim(1, (0, [1, 2]), (0, [6])),
        lambda: flush(ranks[1], [3, 4]),
    ):
        call()
        lengths.append(log.length())
    receipts = [rank.receipt() for rank in ranks]
    whole = ranks[0].snapshot(1, receipts)
    assert log.length() == lengths[-1]  # a snapshot writes nothing
    for earlier, later in reversed(list(itertools.pairwise(lengths))):
        log.cut_off(later)
        fresh = RedisLedger(own_redis.url, TOTAL)
        if later == lengths[-1]:
            assert fresh.snapshot(1, receipts) == whole
        log.cut_off(later - (later - earlier) // 2)
        with pytest.raises(LedgerLost):
            fresh.snapshot(1, receipts)
        fresh.close()


@pytest.mark.parametrize("begun", [0, 1])
def test_a_redis_that_forgot_the_generation_says_so(ranks, log, begun):
    """It was emptied, or is back in an older generation, whose gang has ended."""
    length = log.length() if begun else 0
    ranks[0].restore(2, ranks[0].snapshot(1))
    log.cut_off(length)
    with pytest.raises(LedgerLost, match=f"generation 2 is lost, the ledger is in generation {begun}.*last checkpoint"):
        claim(ranks[0], 2, 0, [1])
    ranks[0].restore(3, None)
    assert claim(ranks[0], 3, 0, [1]) == [True]


def test_a_call_that_is_made_again_because_its_answer_was_lost_is_no_loss(ranks):
    rank, call = ranks[0], ranks[0]._call

    def answer_lost(name, *arguments):
        call(name, *arguments)
        return call(name, *arguments)

    rank._call = answer_lost
    assert claim(rank, 1, 0, [1, 2], token="0:1") == [True, True]
    commit(rank, 1, 0, [1, 2])
    rank._call = call
    rank.snapshot(1, [each.receipt() for each in ranks])
    assert rank.progress(0).committed == 2
