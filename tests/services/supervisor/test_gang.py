"""Ranks under a real `mpirun`, each a little program that leaves a note of its process and waits."""

import asyncio
import os
import shutil
import signal

import pytest
from chaos.process_tree import alive

from services.process.restarts import RestartPolicy
from services.supervisor.child import ProcessFailed
from services.supervisor.gang import Gang, mpirun

# A rank of the first gang stays; those of the second find the file `again`, and the last to leave completes training.
RANK = """
import os, signal, sys
folder, rank = sys.argv[1], os.environ["OMPI_COMM_WORLD_RANK"]
if not os.path.exists(f"{folder}/again"):
    with open(f"{folder}/part-{rank}", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, f"{folder}/rank-{rank}")
    signal.pause()
open(f"{folder}/complete", "w")
"""


@pytest.fixture(autouse=True)
def _mpirun():
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")


def gang(tmp_path, program, complete=None, checkpoint=lambda: "", window_s=600.0):
    policy = RestartPolicy(most=3, window_s=window_s, first_pause_s=0.0)
    command = mpirun(2, ["-I", "-S", "-c", program, str(tmp_path)])
    complete = complete or (tmp_path / "complete").exists
    return Gang(command, tmp_path / "trainer.log", dict(os.environ), complete, checkpoint, policy)


@pytest.mark.parametrize(
    ("number", "whom"),
    [(signal.SIGKILL, "rank"), (signal.SIGTERM, "rank"), (signal.SIGTERM, "mpirun"), (signal.SIGKILL, "mpirun")],
)
def test_one_that_is_lost_ends_the_others_and_all_are_started_again(tmp_path, number, whom):
    async def scene():
        ranks = gang(tmp_path, RANK)
        running = asyncio.create_task(ranks.keep())
        notes = [tmp_path / "rank-0", tmp_path / "rank-1"]
        while not all(note.exists() for note in notes):
            assert not running.done()
            await asyncio.sleep(0.02)
        pids = [int(note.read_text()) for note in notes]
        (tmp_path / "again").touch()
        os.kill(ranks.running.pid if whom == "mpirun" else pids[1], number)
        await asyncio.wait_for(running, 60)
        return ranks.restarts, [pid for pid in pids if alive(pid)]

    assert asyncio.run(scene()) == (1, [])


def test_an_exit_code_alone_does_not_complete_training(tmp_path):
    starts = tmp_path / "starts"
    program = f"open({str(starts)!r}, 'a').write('.')"
    ranks = gang(tmp_path, program, complete=lambda: len(starts.read_text()) > 2)  # two ranks a start
    asyncio.run(ranks.keep())
    assert ranks.restarts == 1


@pytest.mark.parametrize("code", [65, 70, 78])
def test_what_trying_again_cannot_mend_is_not_tried_again(tmp_path, code):
    program = f"print('loss not finite', flush=True); raise SystemExit({code})"
    ranks = gang(tmp_path, program)
    message = rf"trainer ended with exit code {code}; its log(.|\n)*loss not finite"
    with pytest.raises(ProcessFailed, match=message) as failed:
        asyncio.run(ranks.keep())
    assert (ranks.restarts, failed.value.exit_code) == (0, code)


def last_line(tmp_path, code, checkpoint):
    with pytest.raises(ProcessFailed) as failed:
        asyncio.run(gang(tmp_path, f"raise SystemExit({code})", checkpoint=lambda: checkpoint, window_s=0.0).keep())
    return str(failed.value).splitlines()[-1]


@pytest.mark.parametrize(
    ("code", "checkpoint", "reason"),
    [
        (1, "step-00000123", "4 ends without progress since checkpoint step-00000123"),
        (1, "", "4 ends without progress since the start, before a first checkpoint"),
        (65, "step-00000123", "a restart cannot mend exit code 65"),
    ],
)
def test_the_last_line_gives_the_reason_for_no_restart(tmp_path, code, checkpoint, reason):
    assert last_line(tmp_path, code, checkpoint) == f"trainer is not restarted: {reason}"


def test_gangs_that_die_before_the_next_checkpoint_are_given_up_however_long_they_live(tmp_path):
    ranks = gang(tmp_path, "raise SystemExit(1)", window_s=0.0)
    with pytest.raises(ProcessFailed, match="trainer ended with exit code 1"):
        asyncio.run(ranks.keep())
    assert ranks.restarts == 3


def test_gangs_that_write_checkpoints_may_die_any_number_of_times(tmp_path):
    starts = tmp_path / "starts"
    program = f"open({str(starts)!r}, 'a').write('.'); raise SystemExit(os.path.getsize({str(starts)!r}) <= 12)"
    ranks = gang(
        tmp_path, f"import os\n{program}", lambda: True, checkpoint=lambda: str(starts.stat().st_size), window_s=0.0
    )
    asyncio.run(ranks.keep())
    assert ranks.restarts > 3
