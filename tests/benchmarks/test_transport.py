import time

import pytest
from rigs.waiting import eventually

from benchmarks.rigs.peers import GrpcWay, ZeroMqWay
from benchmarks.rigs.transport import CREDITS, LinksWay, produce_uncopied


def uncopied(samples, producers):
    return LinksWay(samples, producers, produce_uncopied)


@pytest.mark.parametrize("way", [LinksWay, uncopied, GrpcWay, ZeroMqWay])
def test_producers_in_other_processes_feed_the_consumer(way):
    with way(500, 2) as fed:
        fed.go()
        eventually(lambda: fed.taken > 10 * CREDITS)
        assert fed.cpu_s() > 0


def test_a_paused_consumer_holds_what_it_granted_and_no_more():
    with LinksWay(500, 2) as fed:
        eventually(lambda: fed.held >= CREDITS)
        time.sleep(0.1)
        assert fed.held == CREDITS
