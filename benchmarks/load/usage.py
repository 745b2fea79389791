"""What processes use, from /proc: CPU time, memory, threads and descriptors of a process and all its children."""

import os
from pathlib import Path

__all__ = ["cpu_s", "descriptors", "listener", "rss_bytes", "threads"]

_PROC = Path("/proc")
_LISTEN = "0A"  # of /proc/net/tcp


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process and its living descendants have used."""
    return sum(sum(map(int, _stat(each)[11:13])) for each in _tree(pid)) / os.sysconf("SC_CLK_TCK")


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process and its descendants."""
    return sum(int(_stat(each)[21]) for each in _tree(pid)) * os.sysconf("SC_PAGE_SIZE")


def threads(pid: int) -> int:
    """Return the threads of a process and its descendants."""
    return sum(int(_stat(each)[17]) for each in _tree(pid))


def descriptors(pid: int) -> int:
    """Return the open file descriptors of a process and its descendants."""
    return sum(len(os.listdir(_PROC / str(each) / "fd")) for each in _tree(pid))


def listener(port: int) -> int | None:
    """Return the process of this machine that listens on a TCP port; None if there is none, or it is another user's."""
    sockets = set()
    for table in (_PROC / "net/tcp", _PROC / "net/tcp6"):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    for link in _PROC.glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) in sockets:
                return int(link.parts[2])
        except OSError:  # it has gone, or is another user's
            continue
    return None


def _tree(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for path in _PROC.glob("[0-9]*"):
        each = int(path.name)
        if stat := _stat(each):
            children.setdefault(int(stat[1]), []).append(each)
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return [each for each in found if _stat(each)]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third, its state, on; none if it has ended."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
