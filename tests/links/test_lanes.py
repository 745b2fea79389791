"""Lanes: each example has one."""

from collections import Counter

from sonorant.delivery.example import Lineage
from sonorant.links.lanes import lane_of


def test_neighbours_who_are_leased_together_take_all_lanes():
    for shard in range(3):
        taken = Counter(lane_of(Lineage(0, shard, index), 4) for index in range(32))
        assert set(taken.values()) == {8}
