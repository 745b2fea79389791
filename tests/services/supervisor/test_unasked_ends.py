"""Processes that end unasked are restarted, and a second command on the run changes nothing."""

import hashlib
import os
import signal
import time
from contextlib import suppress

import pytest
from rigs.accident import AT_ONCE, COMMAND_KILLED, DISK_FULL, KILLED, LAST_CHECKPOINT, accident, happened
from rigs.local import (
    TRAIN,
    back,
    find_process_of,
    finish,
    hit,
    make_workplace,
    nothing_left,
    prepared,
    processes_of,
    sonorant,
    steps,
    supervised,
)
from rigs.waiting import PATIENCE_S, eventually

from services.process.signals import TOGETHER_S
from services.supervisor.past_run import audit_run
from sonorant.run_folder import RunFolder


def test_whoever_leaves_because_somebody_else_asked_it_to_is_started_again(training):
    workplace, trained = training
    for name in ("services.example_server", "services.coordinator", "redis-server", "services.trainer", "mpirun"):
        old = find_process_of(workplace, name)
        hit(workplace, name, signal.SIGTERM)
        back(workplace, name, old, trained)


@pytest.mark.parametrize("deed", [KILLED, DISK_FULL, COMMAND_KILLED], ids=["rank", "disk full", "command"])
def test_a_run_that_is_hit_before_its_last_checkpoint_goes_on_and_completes(tmp_path, deed):
    workplace = make_workplace(tmp_path, epochs=2, checkpoint_every_steps=19)
    prepared(workplace)
    unlucky = accident(workplace / "accident", LAST_CHECKPOINT, deed, epochs=2)
    code, said = finish(sonorant(workplace, "train", environment=unlucky))
    assert happened(workplace / "accident"), said
    if deed is COMMAND_KILLED:
        assert code == -signal.SIGKILL
        code, said = finish(sonorant(workplace, "train", environment=unlucky))
    assert (code, "is complete" in said) == (0, True), said
    found = audit_run(RunFolder(workplace / "run"))
    assert found.exact
    assert [(epoch.committed, epoch.trained) for epoch in found.epochs] == [(TRAIN, TRAIN)] * 2


def test_a_run_whose_coordinator_died_before_it_listened_and_then_its_append_only_file_goes_on_to_its_end(tmp_path):
    workplace = make_workplace(tmp_path, epochs=2)
    prepared(workplace)
    unlucky = accident(workplace / "accident", AT_ONCE, KILLED, module="services.coordinator")
    process = sonorant(workplace, "train", environment=unlucky)
    eventually(lambda: (workplace / "run/checkpoints/latest").exists(), process=process)
    assert happened(workplace / "accident")
    process.kill()
    process.communicate()
    eventually(lambda: not processes_of(workplace))
    (file,) = workplace.glob("run/redis/appendonlydir/*.incr.aof")
    file.write_bytes(file.read_bytes() + bytes(600))  # as a power cut leaves it
    code, said = finish(sonorant(workplace, "train"))
    assert (code, "is complete" in said) == (0, True), said
    found = audit_run(RunFolder(workplace / "run"))
    assert found.exact
    assert [(epoch.committed, epoch.trained) for epoch in found.epochs] == [(TRAIN, TRAIN)] * 2


def test_a_training_that_a_failing_test_leaves_ends_with_it(workplace):
    with suppress(ZeroDivisionError), nothing_left():
        training = sonorant(workplace, "train")
        under_way(workplace, training)
        raise ZeroDivisionError
    assert training.returncode == -signal.SIGKILL
    eventually(lambda: not processes_of(workplace))


def snapshot(folder):
    """Return checksums of what processes read when they start again."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (folder / "recipe.yaml", *sorted((folder / "shards").iterdir()))
    }


def test_a_second_command_on_a_run_in_use_changes_nothing(training):
    workplace, trained = training
    before = snapshot(workplace / "run")
    begun = [event for event in supervised(workplace) if event["event"] == "process_started"]
    for command in ("train", "prepare", "demo"):
        code, said = finish(sonorant(workplace, command, "--set", "training.epochs=2"))
        assert (code, "trains or prepares there already" in said) == (69, True), said
    code, said = finish(sonorant(workplace, "prepare", "--set", "corpus.strings.train=60"))
    assert (code, "trains or prepares there already" in said) == (69, True), said
    assert snapshot(workplace / "run") == before
    assert [event for event in supervised(workplace) if event["event"] == "process_started"] == begun
    old = find_process_of(workplace, "services.trainer")
    hit(workplace, "services.trainer")
    back(workplace, "services.trainer", old, trained)
    assert trained.poll() is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_demo_that_is_ended_leaves_no_training_behind(tmp_path, number, code):
    workplace = make_workplace(tmp_path)
    demo = sonorant(workplace, "demo")
    eventually(lambda: steps(workplace) >= 5, process=demo)
    demo.send_signal(number)
    found, said = finish(demo)
    assert (found, "stopped; the same command goes on" in said) == (code, number is signal.SIGTERM), said
    eventually(lambda: not processes_of(workplace))


def under_way(workplace, process, read=lambda: None):
    """Wait for steps of the training; read: takes what the process has written, if it waits for that."""
    metrics = workplace / "run/metrics.jsonl"
    eventually(lambda: (read(), metrics.exists() and metrics.stat().st_size > 0)[1], process=process)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_twice_as_from_a_group_and_a_parent_leaves_a_checkpoint(tmp_path, number):
    workplace = make_workplace(tmp_path, checkpoint_every_steps=1_000_000)
    prepared(workplace)
    training = sonorant(workplace, "train")
    under_way(workplace, training)
    rank = find_process_of(workplace, "services.trainer")
    os.kill(rank, signal.SIGSTOP)  # it is not over before the second one comes
    training.send_signal(number)
    eventually(lambda: any(event["event"] == "interrupted" for event in supervised(workplace)), process=training)
    training.send_signal(number)
    time.sleep(TOGETHER_S / 4)
    os.kill(rank, signal.SIGCONT)
    code, said = finish(training)
    assert (code, "stopped; the same command goes on" in said) == (130, True), said
    assert steps(workplace) > 0


def test_a_closed_terminal_ends_a_demo_with_a_checkpoint(tmp_path):
    workplace = make_workplace(tmp_path, checkpoint_every_steps=1_000_000)
    ours, theirs = os.openpty()
    demo = sonorant(workplace, "demo", terminal=theirs)
    os.close(theirs)
    os.set_blocking(ours, False)

    def read():
        with suppress(BlockingIOError):
            os.read(ours, 65_536)

    under_way(workplace, demo, read)
    os.close(ours)  # demo and the training that it has started get SIGHUP, and can write no more
    assert demo.wait(PATIENCE_S) == 130
    eventually(lambda: not processes_of(workplace), lambda: processes_of(workplace))
    assert steps(workplace) > 0
