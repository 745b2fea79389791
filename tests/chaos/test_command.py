"""Which ends of the command a fault explains; any other is a fault of the command."""

import signal
import time

import pytest
from chaos.command import Command


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path / "recipe.yaml", tmp_path / "run", tmp_path, 1.0, tmp_path / "out")


def reason(command, code):
    return command.explanation(code, time.monotonic())


@pytest.mark.parametrize("code", [1, 70, 75, 130, -signal.SIGKILL, -signal.SIGTERM])
def test_without_a_fault_no_end_is_explained(command, code):
    assert reason(command, code) is None


def test_a_signal_explains_its_own_end_only(command):
    command.kill()
    assert reason(command, -signal.SIGKILL) == "killed"
    assert reason(command, 70) is None


def test_an_interrupted_command_says_so_by_its_exit_code(command):
    command.term()
    assert [reason(command, code) for code in (130, -signal.SIGTERM, 1)] == ["interrupted", "interrupted", None]


def test_a_full_disk_explains_an_end_for_a_while(command):
    command.disk_full_s = time.monotonic()
    assert [reason(command, code) for code in (69, 70, 1)] == ["disk full", "disk full", None]
    command.disk_full_s = time.monotonic() - 1000
    assert reason(command, 69) is None


def test_a_gang_that_faults_ended_often_explains_exit_code_70(command):
    for _ in range(5):
        command.gang_ended()
    assert reason(command, 70) is None
    command.gang_ended()
    assert reason(command, 70) == "gang ended too often"
    assert reason(command, 75) is None
