"""Hanging processes are restarted, or the run ends with the reason."""

import os
import re
import signal
import time

from rigs.accident import AT_ONCE, NEVER_WORKS, WORKS_NO_MORE, accident
from rigs.local import back, find_process_of, finish, hit, sonorant, steps, supervised
from rigs.waiting import eventually

ALL = ("redis-server", "services.coordinator", "services.example_server", "services.trainer")


def stalled(workplace):
    return [event["restarting"] for event in supervised(workplace) if event["event"] == "stalled"]


def test_whoever_is_stopped_for_good_is_started_again(training):
    workplace, trained = training
    for name in ALL:
        old = find_process_of(workplace, name)
        hit(workplace, name, signal.SIGSTOP)
        back(workplace, name, old, trained)
    hung = [event["name"].partition(".")[0] for event in supervised(workplace) if event["event"] == "process_hangs"]
    assert hung == ["redis", "coordinator", "example_server-0", "trainer-0"]


def test_a_rank_that_is_stopped_while_it_loads_is_started_again(workplace):
    process = sonorant(workplace, "train", "--set", "training.epochs=1")
    eventually(lambda: find_process_of(workplace, "services.trainer"), process=process)
    hit(workplace, "services.trainer", signal.SIGSTOP)  # long before its first heartbeat
    code, said = finish(process)
    assert (code, "is complete" in said) == (0, True), said
    hung = [event["name"] for event in supervised(workplace) if event["event"] == "process_hangs"]
    assert hung == ["trainer-0"]


def test_a_pause_of_seconds_ends_nobody(training):
    workplace, trained = training
    pids = {name: find_process_of(workplace, name) for name in ALL}
    for name in ALL:
        hit(workplace, name, signal.SIGSTOP)
        time.sleep(5)  # what is tried is this very pause
        os.kill(pids[name], signal.SIGCONT)
    reached = steps(workplace)
    eventually(lambda: steps(workplace) > reached, process=trained)
    assert {name: find_process_of(workplace, name) for name in ALL} == pids


def test_a_run_that_stands_still_says_whom_it_waits_for_and_ends(workplace):
    stuck = accident(workplace / "accident", NEVER_WORKS, module="services.example_server")
    process = sonorant(workplace, "train", "--set", "pipeline.stall_after_s=6", environment=stuck)
    code, said = finish(process)
    assert code == 75, said
    assert stalled(workplace) == ["example_server", "trainer"]
    assert re.search(r"no step and no settled example for \d+ s: .*; example_server is restarted", said)
    assert "the same command goes on" in said


def test_a_stage_that_stands_still_is_restarted_and_the_run_goes_on(workplace):
    module = "services.example_server"
    stuck = accident(workplace / "accident", AT_ONCE, WORKS_NO_MORE, module=module)
    settings = ("--set", "pipeline.stall_after_s=40", "--set", "training.epochs=1")  # what is restarted loads within it
    code, said = finish(sonorant(workplace, "train", *settings, environment=stuck))
    assert (code, "is complete" in said) == (0, True), said
    assert stalled(workplace) == ["example_server"]


def test_an_mpirun_that_hangs_does_not_hold_up_the_end(workplace):
    settings = ("--set", "pipeline.stall_after_s=40", "--set", "training.epochs=4")
    process = sonorant(workplace, "train", *settings)
    eventually(lambda: steps(workplace) >= 5, process=process)
    hit(workplace, "mpirun", signal.SIGSTOP)
    code, said = finish(process)
    assert (code, "is complete" in said) == (0, True), said
    assert stalled(workplace) == ["trainer"]
