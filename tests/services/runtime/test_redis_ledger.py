import threading
import time

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from ledger_calls import claim, commit

from services.runtime.redis_ledger import RedisLedger, Start
from sonorant.errors import Unavailable
from sonorant.pipeline.example import Lineage
from sonorant.pipeline.ledger import LedgerConflict, MemoryLedger, Rejection, StaleGeneration

TOTAL = 11
ORDINALS = st.lists(st.integers(0, TOTAL - 1), max_size=6)
EPOCHS = st.integers(0, 2)


def rejection(epoch=0, ordinal=0):
    return Rejection(Lineage(epoch, 0, ordinal), f"u{ordinal}", "vtlp", "NaN at sample 3, expected finite samples")


@pytest.fixture
def ledger(redis_url):
    ledger = RedisLedger(redis_url, TOTAL)
    ledger.restore(1, None)
    yield ledger
    ledger.close()


def outcome(call):
    try:
        return call()
    except (StaleGeneration, LedgerConflict) as error:
        return str(error)


class Model:
    """The contract in plain Python: name → state."""

    def __init__(self):
        self.state = {}

    def claim(self, epoch, ordinals, token):
        answers = []
        for at, o in enumerate(ordinals):
            free = (epoch, o) not in self.state
            mine = token is not None and self.state.get((epoch, o)) == ("claimed", token)
            answers.append((free or mine) and o not in ordinals[:at])
            if free:
                self.state[epoch, o] = ("claimed", token)
        return answers

    def count(self, epoch, what):
        return sum(e == epoch and s[0] == what for (e, _), s in self.state.items())


def machine(url):
    class LedgersAgree(RuleBasedStateMachine):
        snapshots = Bundle("snapshots")

        @initialize()
        def start(self):
            client = redis.Redis.from_url(url)
            client.flushall()
            client.close()
            self.ledgers = [MemoryLedger(TOTAL), RedisLedger(url, TOTAL)]
            self.generation = 0
            self.model = Model()
            self.restore(None)

        def both(self, call):
            first, second = (outcome(lambda ledger=ledger: call(ledger)) for ledger in self.ledgers)
            assert first == second
            return first

        @rule(epoch=EPOCHS, ordinals=ORDINALS, token=st.sampled_from([None, "0:1", "1:1"]))
        def claim(self, epoch, ordinals, token):
            answer = self.both(lambda ledger: claim(ledger, self.generation, epoch, ordinals, token))
            assert answer == self.model.claim(epoch, ordinals, token)

        @rule(epoch=EPOCHS, ordinals=ORDINALS, next_epoch=EPOCHS, wanted=ORDINALS)
        def commit_and_claim(self, epoch, ordinals, next_epoch, wanted):
            answer = self.both(
                lambda ledger: ledger.commit_and_claim(self.generation, (epoch, ordinals), (next_epoch, wanted))
            )
            known = ("claimed", "committed")
            if all(self.model.state.get((epoch, o), ("free",))[0] in known for o in ordinals):
                self.model.state |= {(epoch, o): ("committed",) for o in ordinals}
                assert answer == self.model.claim(next_epoch, wanted, None)
            else:
                assert "never claimed" in answer

        @rule(epoch=EPOCHS, ordinal=st.integers(0, TOTAL - 1))
        def reject(self, epoch, ordinal):
            answer = self.both(lambda ledger: ledger.reject(epoch, ordinal, rejection(epoch, ordinal)))
            assert answer == (self.model.state.setdefault((epoch, ordinal), ("rejected",)) == ("rejected",))

        @rule(epoch=EPOCHS)
        def complete(self, epoch):
            """Commit whatever is not rejected: from the next snapshot on the epoch is past."""
            for ledger in self.ledgers:
                granted = claim(ledger, self.generation, epoch, range(TOTAL))
                mine = [o for o in range(TOTAL) if granted[o] or self.model.state.get((epoch, o), "")[0] == "claimed"]
                commit(ledger, self.generation, epoch, mine)
            for o in range(TOTAL):
                if self.model.state.get((epoch, o)) != ("rejected",):
                    self.model.state[epoch, o] = ("committed",)

        @rule(epoch=EPOCHS, ordinals=ORDINALS)
        def ask_for_rejected_ones(self, epoch, ordinals):
            answer = self.both(lambda ledger: ledger.rejected(epoch, ordinals))
            assert answer == [self.model.state.get((epoch, o)) == ("rejected",) for o in ordinals]

        @rule(epoch=EPOCHS, ordinals=ORDINALS, behind=st.sampled_from([-1, 1]))
        def another_generation_is_refused(self, epoch, ordinals, behind):
            found = self.generation + behind
            assert "generation" in self.both(lambda ledger: claim(ledger, found, epoch, ordinals))
            assert "generation" in self.both(lambda ledger: commit(ledger, found, epoch, ordinals))
            assert "generation" in self.both(lambda ledger: ledger.restore(self.generation, None))
            assert f"generation {found}" in str(self.both(lambda ledger: ledger.snapshot(found)))

        @rule(target=snapshots)
        def snapshot(self):
            data = self.both(lambda ledger: ledger.snapshot(self.generation))
            return data, {name: s for name, s in self.model.state.items() if s[0] in ("committed", "rejected")}

        @rule(snapshot=snapshots)
        def restore_from(self, snapshot):
            self.restore(snapshot)

        def restore(self, snapshot):
            data, state = snapshot or (None, {})
            self.generation += 1
            self.both(lambda ledger: ledger.restore(self.generation, data))
            self.model.state = dict(state)

        @invariant()
        def counts_and_settled_are_the_models(self):
            for epoch in range(3):
                progress = self.both(lambda ledger, epoch=epoch: ledger.progress(epoch))
                assert progress.claimed == self.model.count(epoch, "claimed")
                assert progress.committed == self.model.count(epoch, "committed")
                assert progress.rejected == self.model.count(epoch, "rejected")
                settled = self.both(lambda ledger, epoch=epoch: ledger.settled(epoch).flags().tolist())
                expected = [self.model.state.get((epoch, o), ("free",))[0] for o in range(TOTAL)]
                assert settled == [s in ("committed", "rejected") for s in expected]
            self.both(lambda ledger: ledger.rejections())
            self.both(lambda ledger: ledger.epochs())
            assert self.both(lambda ledger: ledger.generation()) == self.generation

        def teardown(self):
            if hasattr(self, "ledgers"):
                self.ledgers[1].close()

    return LedgersAgree


def test_redis_and_memory_behave_as_the_contract_says(redis_url):
    limits = settings(max_examples=40, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(machine(redis_url), settings=limits)


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
    ledger.reject(0, 4, rejection(0, 4))
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
    assert (ledger.reject(0, 4, rejection(0, 4)), ledger.reject(0, 3, rejection(0, 3))) == (True, False)
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
        ledger.reject(0, 4, rejection(0, 4))
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
