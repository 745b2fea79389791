"""A process whose loop hangs is ended, and its stack logged."""

import subprocess
import sys
from pathlib import Path

LOOP = """
import time
from services.process.watchdog import Watchdog

LIMIT_S = 0.05  # by a clock that only this program moves; looks are so far apart in truth, as well
now = 0.0

def pass_time(seconds):
    global now
    now += seconds
    time.sleep(2 * LIMIT_S)

def stand_still():
    pass_time(1.01 * LIMIT_S)
    time.sleep(60)

with Watchdog(LIMIT_S, clock=lambda: now) as watchdog:
    pass_time(1000)  # it may take its time to begin
    for _ in range(5):
        watchdog.iterated()
        pass_time(0.99 * LIMIT_S)
    watchdog.iterated()
    {}
pass_time(1000)
"""


def run(end):
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", LOOP.format(end)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=30)


def test_a_loop_that_iterates_is_not_ended_nor_what_comes_after_it():
    done = run("pass")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_loop_that_hangs_ends_the_process_and_its_stack_is_logged():
    done = run("stand_still()")
    assert done.returncode == 75
    assert "main_loop_hangs" in done.stdout + done.stderr
    assert "stand_still" in done.stdout + done.stderr
