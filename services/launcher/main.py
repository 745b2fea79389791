"""Launcher: the first process of each trainer pod. It starts one rank, and restarts it whenever the gang loses one.

    python -m services.launcher --ranks 4 --host ADDRESS --redis URL -- python -m services.trainer --launched …

It imports no TensorFlow, so it costs little, and does not hang when its rank does. COMMAND has --launched: the rank
imports TensorFlow, reports that it is ready, and gets the gang's variables once all ranks are. The launcher outlives a
complete training, since Kubernetes would restart it: it waits for SIGTERM.
Exit codes: the rank's if it is final (65, 70, 78) or restarts are exhausted; 75 SIGTERM, or another launcher has taken
this rank.
"""

import re
import socket
import sys
import uuid

import click

from services.process.options import health_port_option, redis_option
from services.process.program import run_program

__all__ = ["command", "main", "pod_ordinal"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--ranks", type=click.IntRange(min=1), required=True, help="Ranks of the gang.")
@click.option(
    "--rank", type=click.IntRange(min=0), help="This pod's; absent: the number at the end of the host's name."
)
@click.option("--host", required=True, metavar="IP", help="This pod's address, at which the other ranks reach it.")
@click.option("--revision", default="", help="Revision of the deployment; a gang has one.")
@redis_option
@health_port_option
@click.argument("command", nargs=-1, required=True)
def command(
    ranks: int,
    rank: int | None,
    host: str,
    revision: str,
    redis_url: str,
    health_port: int | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND as one rank of a gang."""
    from services.launcher.board import RedisBoard
    from services.launcher.launcher import Launcher
    from services.process.health import health_at
    from services.process.logging import configure_logging
    from services.process.signals import Shutdown
    from sonorant.fleet.gang import Member

    rank = pod_ordinal(socket.gethostname()) if rank is None else rank
    if rank >= ranks:
        raise click.UsageError(f"rank {rank} of {ranks} ranks: ranks count from 0")
    configure_logging("launcher", f"launcher-{rank}")
    with Shutdown() as shutdown, health_at(host, health_port) as health:
        member = Member(rank, ranks, revision, lambda: uuid.uuid4().hex)
        ready = (lambda: health.ready(True)) if health is not None else (lambda: None)
        code = Launcher(member, ranks, RedisBoard(redis_url), host, command, shutdown, ready).run()
    sys.exit(code)


def main() -> None:
    """Run a rank until SIGTERM."""
    run_program(command, "launcher")


def pod_ordinal(host: str) -> int:
    """Return the number of a StatefulSet's pod."""
    found = re.search(r"-(\d+)$", host)
    if found is None:
        raise click.UsageError(f"host name {host!r} does not end in a pod's number; give --rank")
    return int(found.group(1))
