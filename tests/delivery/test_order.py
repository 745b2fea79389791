import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.order import EpochOrder

COUNTS = (7, 0, 1, 12)
STARTS = (0, 7, 7, 8, 20)


def whole(counts=COUNTS, seed=1, epoch=0, block=4):
    return list(EpochOrder(counts, seed, epoch, block).without(Bitmap(sum(counts))))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(1, 9), st.integers(0, 5))
def test_every_example_is_in_one_block_of_neighbours_in_one_shard(counts, block, epoch):
    order = EpochOrder(counts, 3, epoch, block)
    starts, everything = np.cumsum([0, *counts]), []
    for position in range(len(order)):
        shard, first, stop = order.span(position)
        assert starts[shard] <= first < stop <= starts[shard + 1]
        assert stop - first <= block
        assert sorted(order.ordinals(position).tolist()) == list(range(first, stop))
        everything += order.ordinals(position).tolist()
    assert sorted(everything) == list(range(sum(counts)))


def test_the_order_follows_from_seed_and_epoch():
    assert whole() == whole()
    assert len({tuple(whole(seed=seed, epoch=epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4


def test_who_shares_a_block_changes_from_epoch_to_epoch():
    def mates(epoch):
        order = EpochOrder((100,), 1, epoch, 10)
        blocks = [set(order.ordinals(position).tolist()) for position in range(len(order))]
        return next(block for block in blocks if 50 in block)

    assert len({frozenset(mates(epoch)) for epoch in range(10)}) > 3


def test_any_example_may_come_at_any_time():
    """Over many epochs the mean position of each record is the middle, within what chance allows."""
    positions = np.array([np.argsort(whole((40, 23), epoch=epoch)) for epoch in range(300)])
    assert np.abs(positions.mean(axis=0) - 31).max() < 5 * 63 / np.sqrt(12 * 300)


def test_what_is_settled_is_left_out():
    settled = Bitmap(20)
    settled.add([0, 7, 19])
    left = list(EpochOrder(COUNTS, 1, 0, 4).without(settled))
    assert left == [ordinal for ordinal in whole() if ordinal not in (0, 7, 19)]


@pytest.mark.parametrize("counts", [(), (0,), (0, 0)])
def test_a_corpus_without_records_has_no_blocks(counts):
    assert len(EpochOrder(counts, 1, 0, 4)) == 0
