"""Redis and memory, side by side, behave as the ledger's contract says, whatever is called in whatever order.

Two clients share each store, which at times is put back to what it was before: it has lost its last writes.
"""

import copy
import re

import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from rigs.ledger_calls import claim, commit, rejection

from services.coordination.redis_ledger import RedisLedger
from sonorant.delivery.ledger import LedgerConflict, LedgerLost, MemoryLedger, StaleGeneration

TOTAL = 11
ORDINALS = st.lists(st.integers(0, TOTAL - 1), max_size=6)
EPOCHS = st.integers(0, 2)
CLIENTS = st.integers(0, 1)


def outcome(call):
    try:
        return call()
    except (StaleGeneration, LedgerConflict, LedgerLost) as error:
        return type(error), re.sub("[0-9a-f]{32}", "a client", str(error))


class Stores:
    """The store of each kind of ledger, both of which can be put back to what they were."""

    def __init__(self, url):
        self.redis = redis.Redis.from_url(url)
        self.redis.flushall()
        first = MemoryLedger(TOTAL)
        self.memory = [first, MemoryLedger(TOTAL, first.store)]
        self.clients = [(memory, RedisLedger(url, TOTAL)) for memory in self.memory]

    def close(self):
        self.redis.close()
        for _, client in self.clients:
            client.close()

    def now(self):
        return copy.deepcopy(self.memory[0].store), {key: self.redis.dump(key) for key in self.redis.keys("*")}

    def put_back(self, moment):
        store, keys = moment
        store = copy.deepcopy(store)
        for client in self.memory:
            client.store = store
        self.redis.flushall()
        for key, content in keys.items():
            self.redis.restore(key, 0, content)


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
        moments = Bundle("moments")

        @initialize()
        def start(self):
            self.stores = Stores(url)
            self.generation = 0
            self.model = Model()
            self.restore(None)

        def both(self, call, client=0):
            first, second = (outcome(lambda ledger=ledger: call(ledger)) for ledger in self.stores.clients[client])
            assert first == second
            return first

        @rule(epoch=EPOCHS, ordinals=ORDINALS, token=st.sampled_from([None, "0:1", "1:1"]), client=CLIENTS)
        def claim(self, epoch, ordinals, token, client):
            answer = self.both(lambda ledger: claim(ledger, self.generation, epoch, ordinals, token), client)
            self.wrote(client)
            assert answer == self.model.claim(epoch, ordinals, token)

        @rule(epoch=EPOCHS, ordinals=ORDINALS, next_epoch=EPOCHS, wanted=ORDINALS, client=CLIENTS)
        def commit_and_claim(self, epoch, ordinals, next_epoch, wanted, client):
            answer = self.both(
                lambda ledger: ledger.commit_and_claim(self.generation, (epoch, ordinals), (next_epoch, wanted)), client
            )
            known = ("claimed", "committed")
            if all(self.model.state.get((epoch, o), ("free",))[0] in known for o in ordinals):
                self.wrote(client)
                self.model.state |= {(epoch, o): ("committed",) for o in ordinals}
                assert answer == self.model.claim(next_epoch, wanted, None)
            else:
                assert answer[0] is LedgerConflict

        @rule(epoch=EPOCHS, ordinal=st.integers(0, TOTAL - 1), client=CLIENTS)
        def reject(self, epoch, ordinal, client):
            reason = rejection(epoch, ordinal)
            answer = self.both(lambda ledger: ledger.reject(self.generation, epoch, ordinal, reason), client)
            self.wrote(client)
            assert answer == (self.model.state.setdefault((epoch, ordinal), ("rejected",)) == ("rejected",))

        @rule(epoch=EPOCHS)
        def complete(self, epoch):
            """Commit whatever is not rejected: from the next snapshot on the epoch is past."""
            self.wrote(0)
            for ledger in self.stores.clients[0]:
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
            error = StaleGeneration if behind < 0 else LedgerLost
            for call in (
                lambda ledger: claim(ledger, found, epoch, ordinals),
                lambda ledger: commit(ledger, found, epoch, ordinals),
                lambda ledger: ledger.reject(found, epoch, 0, rejection(epoch, 0)),
                lambda ledger: ledger.verify(found),
                lambda ledger: ledger.snapshot(found),
            ):
                kind, message = self.both(call)
                assert kind is error
                assert f"generation {found}" in message
            assert self.both(lambda ledger: ledger.restore(self.generation, None))[0] is StaleGeneration

        @rule(target=snapshots)
        def snapshot(self):
            data = self.snapshot_of_both()
            return data, {name: s for name, s in self.model.state.items() if s[0] in ("committed", "rejected")}

        @rule(snapshot=snapshots)
        def restore_from(self, snapshot):
            self.restore(snapshot)

        def snapshot_of_both(self):
            """Take a snapshot as the first client, with the receipts of both."""
            kinds = zip(*self.stores.clients, strict=True)
            receipts = {type(clients[0]): [client.receipt() for client in clients] for clients in kinds}
            return self.both(lambda ledger: ledger.snapshot(self.generation, receipts[type(ledger)]))

        @rule(target=moments)
        def remember(self):
            return self.stores.now(), self.generation, list(self.writes)

        @rule(moment=moments, first=CLIENTS)
        def lose_the_last_writes(self, moment, first):
            """Whoever wrote since then is refused, then everybody; a new generation mends it."""
            then, generation, writes = moment
            self.stores.put_back(then)
            if generation < self.generation:
                losers = {0, 1}
            else:
                losers = {client for client in (0, 1) if writes[client] < self.writes[client]}
            found = self.both(lambda ledger: ledger.verify(self.generation), first)
            assert (found and found[0]) == (LedgerLost if first in losers else None)
            for _ in range(2):
                answer = self.snapshot_of_both()
                assert isinstance(answer, bytes) != bool(losers)
            if losers:
                for client in (0, 1):
                    for call in (
                        lambda ledger: commit(ledger, self.generation, 0, [0]),
                        lambda ledger: ledger.reject(self.generation, 0, 0, rejection(0, 0)),
                        lambda ledger: ledger.verify(self.generation),
                    ):
                        assert self.both(call, client)[0] is LedgerLost
                self.restore(None)

        def wrote(self, client):
            self.writes[client] += 1

        def restore(self, snapshot):
            data, state = snapshot or (None, {})
            self.generation += 1
            self.writes = [0, 0]
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
            if hasattr(self, "stores"):
                self.stores.close()

    return LedgersAgree


def test_redis_and_memory_behave_as_the_contract_says(redis_url):
    limits = settings(max_examples=40, stateful_step_count=25)
    run_state_machine_as_test(machine(redis_url), settings=limits)
