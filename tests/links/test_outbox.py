"""The outbox: items to consumers, in bundles by credit; lanes are independent."""

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.links.outbox import Backlog, Outbox
from sonorant.links.wire import BUNDLE_BYTES

LANES = 3
lanes = st.integers(0, LANES - 1)


class Item(NamedTuple):
    number: int
    lane: int = 0
    size: int = 1


def outbox_of(credits, items=(), lanes=1):
    """Return an outbox; credits: by consumer, all of lane 0."""
    outbox = Outbox(lanes)
    for consumer, credit in credits.items():
        outbox.join(consumer)
        outbox.on_grant(consumer, credit)
    for item in items:
        outbox.offer(item)
    return outbox


def sent(bundles):
    return [(bundle.consumer, [item.number for item in bundle.items]) for bundle in bundles]


@given(offered=st.lists(lanes), credit=st.lists(st.integers(0, 9), min_size=LANES, max_size=LANES))
def test_each_consumer_is_sent_what_is_of_its_lane_in_order_as_far_as_its_credit_goes(offered, credit):
    outbox = Outbox(LANES)
    for lane in range(LANES):
        outbox.join(f"rank {lane}", lane)
        outbox.on_grant(f"rank {lane}", credit[lane])
    items = [Item(number, lane) for number, lane in enumerate(offered)]
    for item in items:
        outbox.offer(item)
    bundles = outbox.bundles()
    sent = {lane: [i for b in bundles if b.consumer == f"rank {lane}" for i in b.items] for lane in range(LANES)}
    for lane in range(LANES):
        assert sent[lane] == [item for item in items if item.lane == lane][: credit[lane]]
    waiting = Counter(offered) - Counter({lane: len(sent[lane]) for lane in sent})
    assert len(outbox) == waiting.total()
    assert all(bundle.waiting == waiting[bundle.items[0].lane] for bundle in bundles)
    told = {bundle.consumer for bundle in bundles if bundle.waiting}  # with what was sent last
    told |= {notice.consumer for notice in outbox.backlogs() if notice.waiting}
    assert told >= {f"rank {lane}" for lane in waiting}


def test_the_consumer_with_most_credit_is_served_first_and_of_equals_who_waited_longest():
    outbox = outbox_of({"slow": 1, "free": 4}, map(Item, range(5)))
    assert sent(outbox.bundles()) == [("free", [0, 1, 2, 4]), ("slow", [3])]
    assert outbox.bundles() == []


def test_consumers_with_equal_credit_alternate():
    outbox = outbox_of({"a": 3, "b": 3}, map(Item, range(7)))
    bundles = outbox.bundles()
    assert sent(bundles) == [("a", [0, 2, 4]), ("b", [1, 3, 5])]
    assert [bundle.waiting for bundle in bundles] == [2, 1]  # when the latest of its items was taken


@pytest.mark.parametrize(
    ("sizes", "bundles"),
    [
        ([1] * 130, [64, 64, 2]),
        ([BUNDLE_BYTES // 2] * 3, [2, 1]),
        ([BUNDLE_BYTES // 2 + 1] * 3, [1, 1, 1]),
        ([1, BUNDLE_BYTES + 1, 1], [1, 1, 1]),
    ],
)
def test_items_share_a_message_up_to_64_and_to_its_bytes(sizes, bundles):
    outbox = outbox_of({"a": 200}, [Item(number, size=size) for number, size in enumerate(sizes)])
    made = outbox.bundles()
    assert [len(bundle.items) for bundle in made] == bundles
    assert [bundle.size for bundle in made] == [sum(item.size for item in bundle.items) for bundle in made]
    assert [item.number for bundle in made for item in bundle.items] == list(range(len(sizes)))


def test_unsent_items_are_the_next_to_go_and_their_consumer_is_forgotten():
    outbox = outbox_of({"gone": 2}, map(Item, range(3)))
    outbox.unsent(outbox.bundles())
    assert "gone" not in outbox
    assert len(outbox) == 3
    outbox.join("here")
    outbox.on_grant("here", 3)
    assert sent(outbox.bundles()) == [("here", [0, 1, 2])]


def test_unsent_bundles_go_in_the_order_in_which_they_were_made():
    outbox = outbox_of({"a": 70, "b": 2}, map(Item, range(75)))
    first, second, third = outbox.bundles()
    assert sent([first, second, third]) == [
        ("a", list(range(64))), ("a", [64, 65, 66, 67, 69, 71]), ("b", [68, 70])
    ]  # fmt: skip
    outbox.unsent([second, third])
    outbox.join("c")
    outbox.on_grant("c", 64)
    assert sent(outbox.bundles()) == [("c", [64, 65, 66, 67, 69, 71, 68, 70, 72, 73, 74])]


def test_what_could_not_be_sent_is_the_first_of_its_lane_again_even_when_its_consumer_is_forgotten():
    outbox = Outbox(2)
    outbox.join("a", 1)
    outbox.on_grant("a", 1)
    outbox.offer(Item(1, lane=1))
    outbox.offer(Item(2, lane=1))
    bundles = outbox.bundles()
    outbox.leave("a")
    outbox.unsent(bundles)
    assert "a" not in outbox
    outbox.join("b", 1)
    outbox.on_grant("b", 2)
    assert sent(outbox.bundles()) == [("b", [1, 2])]


def test_a_consumer_that_joins_again_begins_without_credit_in_the_lane_that_it_requests():
    outbox = Outbox(2)
    outbox.join("a", 0)
    outbox.on_grant("a", 5)
    outbox.join("a", 1)
    outbox.offer(Item(0, lane=0))
    outbox.offer(Item(1, lane=1))
    assert outbox.bundles() == []
    outbox.on_grant("a", 2)
    assert sent(outbox.bundles()) == [("a", [1])]
    assert outbox.on_recall("a") == 1
    assert outbox.on_recall("stranger") == 0
    outbox.on_grant("stranger", 1)
    assert "stranger" not in outbox


def test_a_backlog_is_announced_once_and_its_end_with_the_next_credit():
    outbox = outbox_of({"a": 0, "b": 0}, [Item(0)])
    assert outbox.backlogs() == [Backlog("a", 1), Backlog("b", 1)]
    assert outbox.backlogs() == []
    outbox.on_grant("a", 1)
    assert sent(outbox.bundles()) == [("a", [0])]
    assert outbox.backlogs() == []
    outbox.on_grant("b", 1)
    assert outbox.backlogs() == [Backlog("b", 0)]
