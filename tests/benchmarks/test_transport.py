import os
import subprocess
import sys
import time
from pathlib import Path

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


def test_a_program_that_ends_before_a_way_is_entered_ends(tmp_path):
    """As by a signal there."""
    program = tmp_path / "program.py"
    program.write_text(
        "from benchmarks.rigs.peers import ZeroMqWay\n"
        "if __name__ == '__main__':\n"
        "    way = ZeroMqWay(100, 1)\n"
        "    exit(7)\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, program], env=os.environ | {"PYTHONPATH": root}, timeout=60, check=False)
    assert done.returncode == 7
