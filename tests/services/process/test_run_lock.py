import os
import subprocess
import sys

import pytest

from services.process.run_lock import locked, locked_for_evaluation
from sonorant.errors import Unavailable


def test_a_run_folder_in_use_is_refused_naming_the_process(tmp_path):
    with locked(tmp_path), pytest.raises(Unavailable, match=f"process {os.getpid()} trains or prepares there already"):
        locked(tmp_path).__enter__()


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    program = (
        f"from pathlib import Path; from services.process.run_lock import locked; locked(Path({str(tmp_path)!r}))"
        ".__enter__()"
    )
    program += "; import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program], check=False)
    with locked(tmp_path):
        assert (tmp_path / "supervisor.lock").read_text() == f"{os.getpid()}\n"


def test_a_run_may_be_evaluated_once_at_a_time_and_while_it_is_trained(tmp_path):
    held = f"{tmp_path}: process {os.getpid()} evaluates this run already; wait for its end"
    with locked(tmp_path), locked_for_evaluation(tmp_path), pytest.raises(Unavailable, match=held):
        locked_for_evaluation(tmp_path).__enter__()
