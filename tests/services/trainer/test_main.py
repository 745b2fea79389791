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


def devices_of_a_model(taken):
    """In a process of its own: what a process that exports may use, and what one with a GPU may."""
    from sonorant.models.devices import has_gpu

    return os.getpid(), taken, has_gpu()


def test_a_rank_on_a_gpu_has_its_model_exported_by_a_process_without_one():
    found = trainer._in_process_of_its_own(devices_of_a_model, True)
    assert found[0] != os.getpid()
    assert found[1:] == (True, False)
