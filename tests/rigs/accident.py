"""Accidents at a chosen point of a process: its interpreter loads a `sitecustomize`, and each one happens once."""

import os

LAST_CHECKPOINT = """
from sonorant.training import checkpoints

save = checkpoints.Checkpoints.save

def hit(self, checkpoint, best):
    if checkpoint.progress.epoch >= {epochs}:
        accident()
    return save(self, checkpoint, best)

checkpoints.Checkpoints.save = hit
"""
AFTER_TOTALS = """
from services.trainer import coordination

end = coordination.end_training

def hit(*arguments):
    accident()
    return end(*arguments)

coordination.end_training = hit
"""

NEVER_WORKS = """
from services.stage.replica import StageReplica

StageReplica._work = lambda self: False
"""
AT_ONCE = """
accident()
"""
HANGS = """
import time
from services.stage.replica import StageReplica

StageReplica._work = lambda self: time.sleep(600)
"""

KILLED = "os.kill(os.getpid(), signal.SIGKILL)"
COMMAND_KILLED = "import psutil; psutil.Process().parents()[1].kill(); signal.pause()"  # mpirun's parent
WORKS_NO_MORE = "from services.stage.replica import StageReplica; StageReplica._work = lambda self: False"
DISK_FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))"

_PROGRAM = """
import os, signal, sys

def accident():
    if not os.path.exists({mark!r}):
        open({mark!r}, "w").close()
        {deed}

if {module!r} in sys.orig_argv:
{where}
"""


def accident(folder, where, deed="pass", epochs=0, module="services.trainer"):
    """Return the environment in which processes of `module` come to `where`, and one of them there to the `deed`."""
    folder.mkdir()
    indented = "".join(f"    {line}\n" for line in where.format(epochs=epochs).splitlines())
    (folder / "sitecustomize.py").write_text(
        _PROGRAM.format(mark=str(folder / "happened"), deed=deed, where=indented, module=module)
    )
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path}


def happened(folder):
    """Return whether the accident has been."""
    return (folder / "happened").exists()
