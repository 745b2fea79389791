"""Sessions of processes: what a command has started, and has to end."""

import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path


def heed_hangup():
    """As a program's `preexec_fn`: SIGHUP ends it, also where tests run by nohup, which ignores that."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def leader(program, **options):
    """Start a program that leads a session, and kill it in the end."""
    with subprocess.Popen(program, start_new_session=True, preexec_fn=heed_hangup, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def session(leader):
    """Return the processes of a session, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it ended
            continue
        if int(session) == leader and state != "Z":
            found.append(int(stat.parent.name))
    return found
