import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from chaos.process_tree import alive
from rigs.waiting import eventually

from services.process.leash import leashed
from services.process.restarts import RestartPolicy
from services.supervisor.child import Child, Process, ProcessFailed
from services.supervisor.gang import Gang

FOREVER = [sys.executable, "-S", "-c", "import time; print('up', flush=True); time.sleep(600)"]
FAILING = [sys.executable, "-S", "-c", "print('no such device: plug it in'); raise SystemExit(3)"]


@pytest.fixture
def log_file(tmp_path):
    return tmp_path / "child.log"


async def up(child, *others):
    """Return the process that runs, as soon as there is one that is not one of the others."""
    while child.running in (None, *others):
        await asyncio.sleep(0.01)
    return child.running


def test_a_killed_process_is_started_again(log_file):
    async def scene():
        starts = []
        child = Child("c", lambda restarts: starts.append(restarts) or FOREVER, log_file, dict(os.environ))
        keeper = asyncio.create_task(child.keep())
        first = await up(child)
        os.kill(first.pid, signal.SIGKILL)
        await up(child, first)
        await child.stop(5.0)
        await keeper
        assert starts == [0, 1]

    asyncio.run(scene())


def test_a_process_that_leaves_well_without_being_asked_to_by_its_keeper_is_started_again(log_file):
    async def scene():
        starts = []
        program = [sys.executable, "-S", "-c", "print('left well')"]
        child = Child("c", lambda restarts: starts.append(restarts) or (FOREVER if restarts else program), log_file, {})
        keeper = asyncio.create_task(child.keep())
        while len(starts) < 2:
            assert not keeper.done()
            await asyncio.sleep(0.01)
        await child.stop(5.0)
        await keeper
        assert starts == [0, 1]

    asyncio.run(scene())


def test_a_process_that_hangs_is_ended_and_started_again(log_file):
    async def scene():
        child = Child("c", lambda _: FOREVER, log_file, dict(os.environ))
        keeper = asyncio.create_task(child.keep())
        first = await up(child)
        assert not first.stopped
        os.kill(first.pid, signal.SIGSTOP)
        while not first.stopped:
            await asyncio.sleep(0.01)
        child.abort()
        await up(child, first)
        assert first.code == -signal.SIGKILL
        await child.stop(5.0)
        await keeper
        assert child.running is None

    asyncio.run(scene())


def test_a_process_whose_own_process_is_stopped_is_so_too(log_file):
    program = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])"

    async def scene():
        child = Child("c", lambda _: [sys.executable, "-S", "-c", program], log_file, dict(os.environ))
        keeper = asyncio.create_task(child.keep())
        parent = await up(child)
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        while not children.read_text().split():
            await asyncio.sleep(0.01)
        assert not parent.stopped
        os.kill(int(children.read_text()), signal.SIGSTOP)
        while not parent.stopped:
            await asyncio.sleep(0.01)
        child.abort()
        await up(child, parent)
        await child.stop(5.0)
        await keeper

    asyncio.run(scene())


def test_a_process_that_is_being_started_when_it_is_stopped_does_not_stay(log_file):
    async def scene():
        starting = asyncio.Event()
        child = Child("c", lambda _: starting.set() or FOREVER, log_file, dict(os.environ))
        keeper = asyncio.create_task(child.keep())
        await starting.wait()
        await child.stop(5.0)
        await asyncio.wait_for(keeper, 30)

    asyncio.run(scene())


def soon(most=8):
    return RestartPolicy(most=most, first_pause_s=0.0)


def test_a_process_that_does_not_stay_up_is_reported_with_its_last_words(log_file):
    child = Child("c", lambda _: FAILING, log_file, dict(os.environ), soon())
    with pytest.raises(ProcessFailed, match=r"c ended with exit code 3; its log(.|\n)*no such device: plug it in"):
        asyncio.run(child.keep())
    assert child.restarts == 8


def made(kind, log_file, policy):
    """Return what keeps a process that leaves at once, after which a gang's training is complete."""
    if kind is Child:
        return Child("c", lambda _: FAILING, log_file, dict(os.environ), policy)
    return Gang([sys.executable, "-S", "-c", ""], log_file, dict(os.environ), lambda: True, lambda: "", policy)


@pytest.mark.parametrize("kind", [Child, Gang])
def test_a_process_that_cannot_be_started_is_tried_again_and_then_reported_with_the_reason(tmp_path, kind):
    child = made(kind, tmp_path / "not there" / "child.log", soon(most=2))
    with pytest.raises(
        ProcessFailed, match=r"cannot be started: .*No such file or directory: '.*/not there/child.log'"
    ):
        asyncio.run(child.keep())
    assert child.restarts == 2


def test_a_gang_that_could_not_be_started_is_started_once_it_can_be(tmp_path):
    async def scene():
        gang = made(Gang, tmp_path / "logs" / "trainer.log", RestartPolicy(most=10**6, first_pause_s=0.0))
        keeper = asyncio.create_task(gang.keep())
        while not gang.restarts:
            await asyncio.sleep(0.01)
        (tmp_path / "logs").mkdir()
        await asyncio.wait_for(keeper, 30)

    asyncio.run(scene())


def test_one_that_does_not_listen_is_killed_after_the_grace(log_file):
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )

    async def scene():
        process = await Process.start("c", [sys.executable, "-S", "-c", stubborn], log_file, dict(os.environ))
        while "up" not in log_file.read_text():
            await asyncio.sleep(0.01)
        await process.stop(grace_s=0.1)
        assert process.code == -signal.SIGKILL

    asyncio.run(scene())


def test_the_leash_ends_a_process_whose_supervisor_was_killed(tmp_path):
    pid_file = tmp_path / "pid"
    inner = leashed([sys.executable, "-S", "-c", "import time; time.sleep(600)"], 0)
    outer = (
        f"import subprocess, time; p = subprocess.Popen({inner!r}); open({str(pid_file)!r}, 'w').write(f'{{p.pid}}\\n')"
    )
    supervisor = subprocess.Popen([sys.executable, "-S", "-c", f"{outer}; time.sleep(600)"])
    eventually(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    pid = int(pid_file.read_text())
    eventually(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable) + b"\0-S\0"))
    supervisor.kill()
    supervisor.wait()
    eventually(lambda: not alive(pid))


def test_the_leash_starts_nothing_when_the_supervisor_is_gone_already():
    other = os.getpid() + 1
    done = subprocess.run(leashed([sys.executable, "-c", "print('started')"], other), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
