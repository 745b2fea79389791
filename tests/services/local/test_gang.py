"""Ranks under a real `mpirun`, each a little program that leaves a note of its process and waits."""

import asyncio
import os
import shutil
import signal

import pytest

from services.local.child import ProcessFailed
from services.local.gang import Gang, mpirun
from services.runtime.restarts import RestartPolicy

# A rank of the first gang stays; those of the second find the file `again` and are done.
RANK = """
import os, signal, sys
folder, rank = sys.argv[1], os.environ["OMPI_COMM_WORLD_RANK"]
if not os.path.exists(f"{folder}/again"):
    with open(f"{folder}/part-{rank}", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, f"{folder}/rank-{rank}")
    signal.pause()
"""


@pytest.fixture(autouse=True)
def _mpirun():
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")


def gang(tmp_path, program, on_restart):
    policy = RestartPolicy(most=3, window_s=600.0, first_pause_s=0.0)
    command = mpirun(2, ["-I", "-S", "-c", program, str(tmp_path)])
    return Gang(command, tmp_path / "trainer.log", dict(os.environ), on_restart, policy)


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_one_rank_killed_ends_the_others_and_all_are_started_again(tmp_path):
    left = []

    def on_restart():
        left.extend(pid for pid in pids if not gone(pid))
        (tmp_path / "again").touch()

    pids = []

    async def scene():
        ranks = gang(tmp_path, RANK, on_restart)
        running = asyncio.create_task(ranks.run())
        notes = [tmp_path / "rank-0", tmp_path / "rank-1"]
        while not all(note.exists() for note in notes):
            assert not running.done()
            await asyncio.sleep(0.02)
        pids.extend(int(note.read_text()) for note in notes)
        os.kill(pids[1], signal.SIGKILL)
        await asyncio.wait_for(running, 60)
        return ranks.restarts

    assert asyncio.run(scene()) == 1
    assert left == []


@pytest.mark.parametrize("code", [65, 70, 78])
def test_what_trying_again_cannot_mend_is_not_tried_again(tmp_path, code):
    program = f"print('loss not finite', flush=True); raise SystemExit({code})"
    ranks = gang(tmp_path, program, lambda: pytest.fail("it was started again"))
    with pytest.raises(ProcessFailed, match=rf"trainer ended with exit code {code}; its log(.|\n)*loss not finite"):
        asyncio.run(ranks.run())
