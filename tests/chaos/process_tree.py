"""The processes of a `sonorant train`, found from outside: by parent and command line in /proc, below one process."""

from pathlib import Path

__all__ = ["alive", "name_of", "processes_below"]

_PROC = Path("/proc")


def processes_below(root: int) -> dict[str, list[int]]:
    """Return the numbers of the processes below `root`, by kind; ranks in their order.

    Names: redis, coordinator, mpirun, rank, and those of stages. What is only on its way to become one of these (the
    leash before it runs its command) has none.
    """
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (parent := _parent(int(entry.name))) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found: dict[str, list[int]] = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        if pid != root and (name := name_of(_read(pid, "cmdline").decode(errors="replace").split("\0")[:-1])):
            found.setdefault(name, []).append(pid)
    return {name: sorted(pids, key=_rank if name == "rank" else None) for name, pids in found.items()}


def name_of(command: list[str]) -> str | None:
    """Return what a command line runs, None if it is none of a training's processes."""
    programs = {Path(word).name for word in command[:6]}
    if not command or "leash.py" in programs:
        return None
    if Path(command[0]).name in ("redis-server", "mpirun"):
        return Path(command[0]).name.removesuffix("-server")
    if command[0].startswith("redis-server "):  # Redis writes its socket's path behind its name
        return "redis"
    if "services.coordinator" in command:
        return "coordinator"
    if "services.trainer" in command:
        return "rank"
    if "--replica" in command[:-1]:  # STAGE-NUMBER.…
        return command[command.index("--replica") + 1].partition(".")[0].rpartition("-")[0]
    return None


def alive(pid: int) -> bool:
    """Whether a process is there that has not ended yet, be it stopped."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X")


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields and fields[0] not in ("Z", "X") else None


def _stat(pid: int) -> list[str]:
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _rank(pid: int) -> int:
    for line in _read(pid, "environ").split(b"\0"):
        if line.startswith(b"OMPI_COMM_WORLD_RANK="):
            return int(line.partition(b"=")[2])
    return 0


def _read(pid: int, file: str) -> bytes:
    try:
        return (_PROC / str(pid) / file).read_bytes()
    except OSError:  # it has ended meanwhile
        return b""
