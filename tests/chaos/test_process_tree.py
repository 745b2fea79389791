import os
import signal
import subprocess
import sys

import pytest
from chaos.process_tree import alive, name_of, processes_below
from rigs.waiting import eventually

PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)', *sys.argv[1:]])"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("redis-server unixsocket:/run/redis.sock", "redis"),
        ("/usr/bin/redis-server redis.conf", "redis"),
        ("python -m services.coordinator --run r", "coordinator"),
        ("mpirun --quiet -np 2 python -I -S leash.py 0 python -m services.trainer --run r", "mpirun"),
        ("python -m services.trainer --run r", "rank"),
        ("python -I -S /a/leash.py 0 python -m services.trainer --run r", None),
        ("python -m services.shard_reader --run r --replica shard_reader-0.7.1", "shard_reader"),
        ("python -m services.augmenter --stage gain --replica gain-12.7.0", "gain"),
        ("python -m pytest", None),
        ("", None),
    ],
)
def test_a_command_line_tells_what_runs(command, name):
    assert name_of(command.split()) == name


def test_redis_is_known_by_the_title_that_it_gives_itself():
    assert name_of(["redis-server unixsocket:/run/redis.sock"]) == "redis"


def test_processes_are_found_below_one_and_those_that_are_stopped_live():
    with subprocess.Popen([sys.executable, "-c", PARENT, "--replica", "vtlp-0.1.0"]) as parent:
        own = eventually_found(os.getpid(), "vtlp", 2)
        (child,) = eventually_found(parent.pid, "vtlp", 1)
        assert set(own) == {parent.pid, child}
        os.kill(child, signal.SIGSTOP)
        assert alive(child)
        os.kill(child, signal.SIGKILL)
        eventually(lambda: not alive(child))
    assert not alive(parent.pid)
    assert processes_below(parent.pid) == {}


def eventually_found(root, name, count):
    eventually(lambda: len(processes_below(root).get(name, [])) == count)
    return processes_below(root)[name]
