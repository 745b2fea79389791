import threading
import time

import pytest
import redis
from rigs.ledger_calls import claim, commit, rejection

from services.coordination.redis_ledger import RedisLedger, Start
from sonorant.delivery.ledger import LedgerConflict, StaleGeneration
from sonorant.errors import Unavailable

TOTAL = 11


@pytest.fixture
def ledger(redis_url):
    ledger = RedisLedger(redis_url, TOTAL)
    ledger.restore(1, None)
    yield ledger
    ledger.close()


def test_only_one_of_many_threads_gets_an_example(redis_url, ledger):
    granted = []

    def claim_everything():
        other = RedisLedger(redis_url, TOTAL)
        for ordinal in range(TOTAL):
            granted.extend([ordinal] * sum(claim(other, 1, 0, [ordinal])))
        other.close()

    threads = [threading.Thread(target=claim_everything) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(TOTAL))


def test_a_step_costs_one_round_trip(redis_url, ledger):
    claim(ledger, 1, 0, [0, 1], token="0:1")
    client = redis.Redis.from_url(redis_url)
    before = client.info("stats")["total_commands_processed"]
    ledger.commit_and_claim(1, (0, [0, 1]), (0, [2, 3]), token="0:2")
    stats = client.info("commandstats")
    after = client.info("stats")["total_commands_processed"]
    client.close()
    assert stats["cmdstat_evalsha"]["calls"] >= 2
    assert after - before <= 3 + 16  # our own two INFOs, one EVALSHA, and the commands inside the script


def test_a_claim_whose_answer_was_lost_is_granted_again(ledger):
    assert claim(ledger, 1, 0, [3, 4], token="0:7") == [True, True]
    assert claim(ledger, 1, 0, [3, 4], token="0:7") == [True, True]
    assert claim(ledger, 1, 0, [3, 4], token="1:7") == [False, False]
    commit(ledger, 1, 0, [3])
    assert claim(ledger, 1, 0, [3, 4], token="0:7") == [False, True]


def test_state_survives_a_killed_redis_and_calls_wait_for_it(own_redis):
    ledger = RedisLedger(own_redis.url, TOTAL)
    ledger.restore(1, None)
    claim(ledger, 1, 0, [1, 2])
    commit(ledger, 1, 0, [1])
    own_redis.kill()
    restart = threading.Timer(0.3, own_redis.start)
    restart.start()
    assert claim(ledger, 1, 0, [1, 2, 3]) == [False, False, True]
    restart.join()
    assert ledger.progress(0).committed == 1
    ledger.close()


def test_redis_away_at_start_is_named(tmp_path):
    with pytest.raises(Unavailable, match=r"nobody\.sock.*check that it runs"):
        RedisLedger(f"unix://{tmp_path}/nobody.sock", TOTAL, start_patience_s=0.1)


def test_redis_away_for_too_long_in_the_middle_is_named(own_redis):
    ledger = RedisLedger(own_redis.url, TOTAL, patience_s=0.2)
    ledger.restore(1, None)
    own_redis.kill()
    begun = time.monotonic()
    with pytest.raises(Unavailable, match="cannot be reached"):
        claim(ledger, 1, 0, [1])
    assert time.monotonic() - begun < 5
    ledger.close()


def test_who_has_to_leave_waits_no_longer_for_redis(own_redis):
    ledger = RedisLedger(own_redis.url, TOTAL)
    ledger.restore(1, None)
    own_redis.kill()
    begun = time.monotonic()
    told = threading.Timer(0.5, ledger.hurry, [0.5])
    told.start()
    for number in (1, 2):
        with pytest.raises(Unavailable, match="cannot be reached"):
            claim(ledger, 1, 0, [number])
    assert time.monotonic() - begun < 30  # of the 60 seconds for each
    told.join()
    ledger.close()


def test_a_start_is_remembered_for_its_generation_only(ledger):
    assert ledger.last_start() is None
    ledger.remember_start(Start(1, 4, 9))
    assert ledger.last_start() == Start(1, 4, 9)
    ledger.restore(2, None)
    assert ledger.last_start() is None
    ledger.remember_start(Start(2, 5, 9))
    with pytest.raises(StaleGeneration, match="generation 1: the ledger is in generation 2"):
        ledger.remember_start(Start(1, 4, 9, complete=True))
    assert ledger.last_start() == Start(2, 5, 9)


def test_events_are_counted_by_epoch_and_outlive_generations(ledger):
    claim(ledger, 1, 0, [1, 2])
    claim(ledger, 1, 0, [2, 3, 3])
    ledger.count_events("reissued", {0: 2, 1: 4})
    ledger.restore(2, None)
    ledger.count_events("reissued", {1: 1})
    assert ledger.events("refused") == {0: 2}
    assert ledger.events("reissued") == {0: 2, 1: 5}


def test_an_ordinal_outside_the_corpus_is_refused(ledger):
    with pytest.raises(ValueError, match=r"ordinal 11.*0\.\.10"):
        claim(ledger, 1, 0, [TOTAL])


def test_epochs_that_are_whole_take_no_memory_but_answer_as_before(redis_url, ledger):
    ledger.reject(1, 0, 4, rejection(0, 4))
    for epoch in range(2):
        granted = claim(ledger, 1, epoch, range(TOTAL))
        commit(ledger, 1, epoch, [o for o in range(TOTAL) if granted[o]])
    ledger.snapshot(1)
    client = redis.Redis.from_url(redis_url)
    assert client.keys("sonorant:committed:*") + client.keys("sonorant:rejected:*") == []
    ledger.restore(2, ledger.snapshot(1))
    assert client.keys("sonorant:committed:*") == []
    client.close()
    assert (ledger.progress(0).committed, ledger.progress(0).rejected) == (TOTAL - 1, 1)
    assert ledger.settled(0).count() == TOTAL
    assert ledger.rejections() == [rejection(0, 4)]
    assert claim(ledger, 2, 0, [3, 4]) == [False, False]
    assert (ledger.reject(2, 0, 4, rejection(0, 4)), ledger.reject(2, 0, 3, rejection(0, 3))) == (True, False)
    commit(ledger, 2, 0, [3])
    with pytest.raises(LedgerConflict):
        commit(ledger, 2, 0, [3, 4])


class _Freezing(RedisLedger):
    """A ledger whose process is stopped before it lets an epoch rest, until `meanwhile` is over."""

    def _call(self, name, *arguments):
        if name == "retire":
            self.meanwhile()
        return super()._call(name, *arguments)


def test_an_older_gang_that_wakes_late_lets_no_epoch_of_the_new_one_rest(redis_url, ledger):
    def another_gang():
        ledger.restore(2, None)
        ledger.reject(2, 0, 4, rejection(0, 4))
        finish(2, [o for o in range(TOTAL) if o != 4])

    def finish(generation, ordinals):
        claim(ledger, generation, 0, ordinals)
        commit(ledger, generation, 0, ordinals)

    frozen = _Freezing(redis_url, TOTAL)
    frozen.meanwhile = another_gang
    finish(1, range(TOTAL))
    with pytest.raises(StaleGeneration, match="generation 1: the ledger is in generation 2"):
        frozen.snapshot(1)
    frozen.close()
    assert ledger.rejected(0, [3, 4]) == [False, True]
    assert ledger.snapshot(2)


@pytest.mark.parametrize("count", [999, 1000, 1001, 3000])
def test_a_batch_larger_than_what_lua_can_pass_at_once_is_claimed_and_committed(redis_url, count):
    ledger = RedisLedger(redis_url, 4000)
    ledger.restore(1, None)
    assert claim(ledger, 1, 0, range(count)) == [True] * count
    assert ledger.commit_and_claim(1, (0, range(count)), (0, range(count + 5))) == [False] * count + [True] * 5
    assert ledger.progress(0).committed == count
    ledger.close()
