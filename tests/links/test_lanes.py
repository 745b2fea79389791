"""Lanes: each is an outbox that knows nothing of the others."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sonorant.delivery.example import Lineage
from sonorant.links.lanes import Lanes, lane_of

LANES = 3
lanes = st.integers(0, LANES - 1)


def drained(outbox):
    sends = []
    while (send := outbox.next_send()) is not None:
        sends.append(send)
    return sends


@given(offered=st.lists(lanes), credit=st.lists(st.integers(0, 9), min_size=LANES, max_size=LANES))
def test_each_consumer_is_sent_what_is_of_its_lane_in_order_as_far_as_its_credit_goes(offered, credit):
    outbox = Lanes(LANES)
    for lane in range(LANES):
        outbox.join(f"rank {lane}", lane)
        outbox.on_grant(f"rank {lane}", credit[lane])
    items = [(lane, number) for number, lane in enumerate(offered)]
    for item in items:
        outbox.offer(item, item[0])
    sends = drained(outbox)
    sent = {lane: [s.item for s in sends if s.consumer == f"rank {lane}"] for lane in range(LANES)}
    for lane in range(LANES):
        assert sent[lane] == [item for item in items if item[0] == lane][: credit[lane]]
    waiting = Counter(offered) - Counter({lane: len(sent[lane]) for lane in sent})
    assert len(outbox) == waiting.total()
    told = {send.consumer for send in sends if send.waiting}  # with what was sent last
    told |= {notice.consumer for notice in outbox.backlogs() if notice.waiting}
    assert told >= {f"rank {lane}" for lane in waiting}


def test_what_could_not_be_sent_is_the_first_of_its_lane_again_even_when_its_consumer_is_forgotten():
    outbox = Lanes(2)
    outbox.join("a", 1)
    outbox.on_grant("a", 2)
    outbox.offer("first", 1)
    outbox.offer("second", 1)
    send = outbox.next_send()
    outbox.leave("a")
    outbox.unsent("a", send.item, 1)
    assert "a" not in outbox
    outbox.join("b", 1)
    outbox.on_grant("b", 2)
    assert [s.item for s in drained(outbox)] == ["first", "second"]


def test_a_consumer_that_comes_again_begins_without_credit_in_the_lane_that_it_asks_for():
    outbox = Lanes(2)
    outbox.join("a", 0)
    outbox.on_grant("a", 5)
    outbox.join("a", 1)
    outbox.offer("of 0", 0)
    outbox.offer("of 1", 1)
    assert outbox.next_send() is None
    assert outbox.on_grant("a", 2)
    assert [s.item for s in drained(outbox)] == ["of 1"]
    assert outbox.on_recall("a") == 1
    assert outbox.on_recall("stranger") == 0
    assert not outbox.on_grant("stranger", 1)


def test_neighbours_who_are_leased_together_take_all_lanes():
    for shard in range(3):
        taken = Counter(lane_of(Lineage(0, shard, index), 4) for index in range(32))
        assert set(taken.values()) == {8}
