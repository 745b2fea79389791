import os
import subprocess
import sys
import threading

from chaos.windows import Aim, hold
from rigs.waiting import eventually


def test_nobody_waits_in_a_window_that_nobody_aims_at(tmp_path):
    hold(tmp_path, "checkpoint")
    with Aim(tmp_path, "restore") as aim:
        hold(tmp_path, "checkpoint")
        assert aim.rank() is None


def test_a_rank_stays_in_the_window_until_the_aim_is_taken_away(tmp_path):
    with Aim(tmp_path, "checkpoint") as aim:
        rank = threading.Thread(target=hold, args=(tmp_path, "checkpoint"))
        rank.start()
        eventually(lambda: aim.rank() is not None)
        assert aim.rank() == os.getpid()
        assert rank.is_alive()
    rank.join(20)
    assert not rank.is_alive()


def test_a_new_aim_forgets_who_was_in_the_window_before(tmp_path):
    (tmp_path / "reached").mkdir()
    (tmp_path / "reached/latest").write_text("1")
    with Aim(tmp_path, "latest") as aim:
        assert aim.rank() is None


SAVES = """
import sys
from pathlib import Path
from chaos.recording_trainer import install
install()
from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress
checkpoints = Checkpoints(Path(sys.argv[1]), 1, print)
checkpoints.begin(0, {"seed": 1})
checkpoints.save(Checkpoint(Progress(step=1), {"seed": 1}, {}, {}, {}, {}, b""), best=True)
"""


def test_a_rank_with_windows_writes_what_one_without_writes(tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "CHAOS_RECORDS": str(tmp_path)}
    subprocess.run([sys.executable, "-c", SAVES, tmp_path / "checkpoints"], env=environment, check=True, timeout=300)
    names = {path.name: path.is_file() and path.read_text() for path in (tmp_path / "checkpoints").iterdir()}
    assert names == {"generation": "1", "step-00000001": False, "latest": "step-00000001", "best": "step-00000001"}
