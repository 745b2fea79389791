import os
import subprocess
import sys

import pytest

from services.supervisor.lock import locked
from sonorant.errors import Unavailable


def test_a_run_folder_in_use_is_refused_naming_the_process(tmp_path):
    with locked(tmp_path), pytest.raises(Unavailable, match=f"process {os.getpid()} trains or prepares there already"):
        locked(tmp_path).__enter__()


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    program = (
        f"from pathlib import Path; from services.supervisor.lock import locked; locked(Path({str(tmp_path)!r}))"
        ".__enter__()"
    )
    program += "; import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program], check=False)
    with locked(tmp_path):
        assert (tmp_path / "supervisor.lock").read_text() == f"{os.getpid()}\n"
