"""What the trainer's process settles before anything is loaded."""

import os
import sys

import pytest

from services.trainer import main as trainer
from services.trainer.main import main

WAITING = {"OMPI_MCA_mpi_yield_when_idle": "1", "HOROVOD_CYCLE_TIME": "5"}


@pytest.fixture
def ask_for_help(monkeypatch):
    for name in WAITING:
        monkeypatch.setenv(name, "")  # so that it is as before afterwards
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "argv", ["trainer", "--help"])

    def ask():
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return {name: os.environ[name] for name in WAITING}

    return ask


def test_ranks_that_wait_leave_the_cores_to_others(ask_for_help):
    assert ask_for_help() == WAITING


def test_how_ranks_wait_is_for_the_environment_to_say(ask_for_help, monkeypatch):
    said = {"OMPI_MCA_mpi_yield_when_idle": "0", "HOROVOD_CYCLE_TIME": "2.5"}
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert ask_for_help() == said


def pid_and(word):
    return os.getpid(), word


def test_what_a_rank_on_a_gpu_cannot_do_is_done_by_another_process():
    pid, word = trainer._in_process_of_its_own(pid_and, "exported")
    assert pid != os.getpid()
    assert word == "exported"
