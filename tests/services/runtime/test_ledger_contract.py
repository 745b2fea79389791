"""Redis and memory, side by side, behave as the ledger's contract says, whatever is called in whatever order."""

import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from ledger_calls import claim, commit, rejection

from services.runtime.redis_ledger import RedisLedger
from sonorant.pipeline.ledger import LedgerConflict, MemoryLedger, StaleGeneration

TOTAL = 11
ORDINALS = st.lists(st.integers(0, TOTAL - 1), max_size=6)
EPOCHS = st.integers(0, 2)


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
    limits = settings(max_examples=40, stateful_step_count=25)
    run_state_machine_as_test(machine(redis_url), settings=limits)
