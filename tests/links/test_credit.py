"""Credit: no producer exceeds its credit, no example is lost, no consumer holds more than its slots."""

from collections import deque
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sonorant.links.credit import Grant, Grants, Recall
from sonorant.links.outbox import Outbox

_CONSUMERS = ("x", "y")
_PRODUCERS = ("a", "b", "c")


class Numbered(NamedTuple):
    number: int
    size: int = 1
    lane: int = 0


class Links(RuleBasedStateMachine):
    """Three producers and two consumers; the messages of a link keep their order, those of different links do not."""

    @initialize(slots=st.one_of(st.integers(1, 5), st.integers(16, 64)))
    def begin(self, slots):
        self.slots = slots
        self.outboxes = {p: Outbox() for p in _PRODUCERS}
        self.grants = {c: Grants() for c in _CONSUMERS}
        self.up = {(c, p): deque() for c in _CONSUMERS for p in _PRODUCERS}
        self.down = {(c, p): deque() for c in _CONSUMERS for p in _PRODUCERS}
        self.linked = set()
        self.held = {c: [] for c in _CONSUMERS}
        self.made, self.done, self.lost = 0, [], []
        for c in _CONSUMERS:
            self.grants[c].release(slots)
            for p in _PRODUCERS:
                self._link(c, p)

    def _link(self, c, p):
        self.up[c, p].clear()
        self.linked.add((c, p))
        self.outboxes[p].join(c)
        self.grants[c].join(p)
        self._act(c)

    def _act(self, c):
        for action in self.grants[c].actions():
            self.up[c, action.producer].append(action)

    def _pump(self, p):
        outbox = self.outboxes[p]
        while bundles := outbox.bundles():
            unsent = []
            for bundle in bundles:
                if (bundle.consumer, p) in self.linked:
                    message = ("examples", [item.number for item in bundle.items], bundle.waiting)
                    self.down[bundle.consumer, p].append(message)
                else:
                    unsent.append(bundle)
            outbox.unsent(unsent)
        for notice in outbox.backlogs():
            if (notice.consumer, p) in self.linked:
                self.down[notice.consumer, p].append(("backlog", notice.waiting, None))

    def _to_producer(self, c, p):
        action = self.up[c, p].popleft()
        if isinstance(action, Grant):
            self.outboxes[p].on_grant(c, action.examples)
        else:
            assert isinstance(action, Recall)
            self.down[c, p].append(("return", self.outboxes[p].on_recall(c), None))
        self._pump(p)

    def _to_consumer(self, c, p):
        kind, value, waiting = self.down[c, p].popleft()
        if kind == "examples":
            assert self.grants[c].on_examples(p, len(value), waiting), "more examples came than were granted"
            self.held[c] += value
        elif kind == "backlog":
            self.grants[c].on_backlog(p, value)
        else:
            assert self.grants[c].on_return(p, value), "more credit came back than was given"
        self._act(c)

    @rule(p=st.sampled_from(_PRODUCERS), count=st.integers(1, 30))
    def produce(self, p, count):
        for _ in range(count):
            self.outboxes[p].offer(Numbered(self.made))
            self.made += 1
        self._pump(p)

    @rule(c=st.sampled_from(_CONSUMERS), p=st.sampled_from(_PRODUCERS), upwards=st.booleans())
    def deliver(self, c, p, upwards):
        if upwards and self.up[c, p]:
            self._to_producer(c, p)
        elif not upwards and self.down[c, p]:
            self._to_consumer(c, p)

    @rule(c=st.sampled_from(_CONSUMERS))
    def finish_one(self, c):
        if self.held[c]:
            self.done.append(self.held[c].pop(0))
            self.grants[c].release(1)
            self._act(c)

    @rule(c=st.sampled_from(_CONSUMERS), p=st.sampled_from(_PRODUCERS))
    def break_link(self, c, p):
        """What is on the wire is gone; the producer notices when it next sends, the consumer now."""
        if (c, p) in self.linked:
            self.linked.remove((c, p))
            self.lost += [item for kind, items, _ in self.down[c, p] if kind == "examples" for item in items]
            self.down[c, p].clear()
            self.up[c, p].clear()
            self.grants[c].leave(p)
            self._act(c)
            self._pump(p)

    @rule(c=st.sampled_from(_CONSUMERS), p=st.sampled_from(_PRODUCERS))
    def link_again(self, c, p):
        if (c, p) not in self.linked:
            self._link(c, p)
            self._pump(p)

    @invariant()
    def no_consumer_holds_more_than_its_slots(self):
        for c in getattr(self, "grants", {}):
            messages = [message for p in _PRODUCERS for message in self.down[c, p]]
            under_way = sum(len(items) for kind, items, _ in messages if kind == "examples")
            assert len(self.held[c]) + under_way <= len(self.held[c]) + self.grants[c].granted <= self.slots

    @rule()
    def everything_flows_when_all_deliver(self):
        """Link all, deliver all, finish all: every example that was not on a broken wire is done, exactly once."""
        for c in _CONSUMERS:
            for p in _PRODUCERS:
                self.link_again(c, p)
        for _ in range(100 * (self.made + 1)):
            moved = False
            for c in _CONSUMERS:
                for p in _PRODUCERS:
                    for upwards in (True, False):
                        moved = moved or bool(self.up[c, p] or self.down[c, p])
                        self.deliver(c, p, upwards)
                moved = moved or bool(self.held[c])
                self.finish_one(c)
            if not moved:
                break
        assert sorted(self.done + self.lost) == list(range(self.made))


TestLinks = Links.TestCase
TestLinks.settings = settings(max_examples=60, stateful_step_count=40)


def _grants(slots, *producers):
    grants = Grants()
    grants.release(slots)
    for producer in producers:
        grants.join(producer)
    return grants


def test_slots_are_spread_evenly_over_producers():
    assert sorted(_grants(8, "a", "b", "c").actions()) == [("a", 3), ("b", 3), ("c", 2)]


def test_the_only_credit_is_recalled_from_an_idle_producer_for_a_busy_one():
    grants = _grants(1, "idle", "busy")
    assert grants.actions() == [Grant("idle", 1)]
    grants.on_backlog("busy", 1)
    assert grants.actions() == [Recall("idle")]
    assert grants.on_return("idle", 1)
    assert grants.actions() == [Grant("busy", 1)]


def test_busy_producers_alternate():
    grants = _grants(1, "a", "b")
    grants.actions()
    senders = []
    for _ in range(6):
        grants.on_backlog("a", 1)
        grants.on_backlog("b", 1)
        sender = "a" if not senders or senders[-1] == "b" else "b"
        assert grants.on_examples(sender, 1, waiting=1)
        grants.release(1)
        senders.append(sender)
        assert grants.actions() == [Grant("b" if sender == "a" else "a", 1)]


def test_credit_of_a_producer_that_left_goes_to_the_others():
    grants = _grants(4, "a", "b")
    grants.actions()
    grants.leave("a")
    assert grants.actions() == [Grant("b", 2)]


def test_after_withdrawal_nothing_is_granted_and_all_unused_credit_is_recalled():
    grants = _grants(4, "a", "b")
    grants.actions()
    grants.withdraw()
    assert sorted(grants.actions()) == [("a",), ("b",)]
    grants.on_return("a", 2)
    grants.on_return("b", 2)
    assert grants.actions() == []
    assert grants.granted == 0


def test_an_example_without_credit_is_refused():
    grants = _grants(1, "a")
    grants.actions()
    assert grants.on_examples("a", 1, waiting=0)
    assert not grants.on_examples("a", 1, waiting=0)
    assert not grants.on_examples("stranger", 1, waiting=0)


def test_slots_gather_until_a_message_is_worth_its_while_unless_a_producer_starves():
    grants = Grants()
    for producer in "ab":
        grants.join(producer)
    grants.release(16)
    assert {tuple(grant) for grant in grants.actions()} == {("a", 8), ("b", 8)}
    for _ in range(3):
        assert grants.on_examples("a", 1, waiting=0)
    grants.release(3)
    assert grants.actions() == []
    assert grants.on_examples("a", 1, waiting=0)
    grants.release(1)
    assert [tuple(grant) for grant in grants.actions()] == [("a", 4)]
    for _ in range(8):
        assert grants.on_examples("a", 1, waiting=1)
    grants.release(1)
    assert [tuple(grant) for grant in grants.actions()] == [("a", 1)]


def test_many_producers_get_slots_in_batches_one_after_the_other():
    producers = [f"p{number}" for number in range(64)]
    grants = _grants(64, *producers)
    served = []
    for _ in range(2):  # everybody has examples; who was granted slots uses them at once
        for producer in producers:
            grants.on_backlog(producer, 9)
        for peer, count in grants.actions():
            assert count == 8
            assert grants.on_examples(peer, count, waiting=9)
            grants.release(count)
            served.append(peer)
    assert len(served) == 16
    assert len(set(served)) == 16


def test_slots_go_first_where_examples_wait_and_no_more_than_wait_there():
    grants = _grants(24, "few", "many", "idle")
    grants.on_backlog("few", 2)
    grants.on_backlog("many", 40)
    assert sorted(grants.actions()) == [("few", 2), ("many", 21)]


def test_nobody_has_to_ask_for_slots_while_there_are_enough_for_all():
    """Those that lay idle with some would have to be recalled for the others."""
    producers = [f"p{number}" for number in range(100)]
    grants = _grants(128, *producers)
    assert {peer for peer, _ in grants.actions()} == set(producers)


def test_as_much_is_recalled_at_once_as_a_starving_producer_can_use():
    idle = [f"p{number}" for number in range(40)]
    grants = _grants(40, *idle)
    grants.actions()
    grants.join("busy")
    grants.on_backlog("busy", 5)
    recalled = [action.producer for action in grants.actions()]
    assert len(recalled) == 5
    assert grants.actions() == []
    for producer in recalled:
        assert grants.on_return(producer, 1)
    assert grants.actions() == [Grant("busy", 5)]


def test_credit_that_a_producer_is_about_to_use_is_not_recalled():
    grants = _grants(1, "a", "b")
    assert grants.actions() == [Grant("a", 1)]
    grants.on_backlog("a", 1)
    grants.on_backlog("b", 1)
    assert grants.actions() == []


def test_a_producer_that_begins_again_has_no_credit():
    grants = _grants(4, "a")
    grants.actions()
    grants.join("a")
    assert grants.granted == 0
    assert grants.actions() == [Grant("a", 4)]


def test_where_most_slots_lie_idle_those_that_are_free_are_dealt_at_once_and_others_recalled():
    """A handful of all would have to be gathered first, from many."""
    grants = _grants(101, *[f"p{number}" for number in range(100)])
    grants.actions()
    grants.join("busy")
    assert grants.on_examples("p0", 1, waiting=0)
    grants.release(1)
    grants.on_backlog("busy", 15)
    actions = grants.actions()
    assert Grant("busy", 1) in actions
    assert sum(isinstance(action, Recall) for action in actions) == 14


def test_a_single_slot_is_granted_where_the_consumer_holds_all_others():
    grants = _grants(64, "a")
    grants.actions()
    assert grants.on_examples("a", 64, waiting=1)
    grants.release(1)
    assert grants.actions() == [Grant("a", 1)]
