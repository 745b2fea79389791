"""A `sonorant` command as a child process of another one."""

import os
import shlex
import signal
import subprocess
import sys
from typing import NamedTuple

import click

from services.process.leash import leashed

__all__ = ["Ended", "run_command"]


class Ended(NamedTuple):
    """How a child ended. code: as a shell has it; interrupted: whether SIGINT or SIGTERM came while it ran."""

    code: int
    interrupted: bool


def run_command(*arguments: str) -> Ended:
    """Run and show one `sonorant` command, and wait for its end.

    SIGTERM is forwarded to it, SIGINT comes from the terminal; it ends when this process is killed.
    """
    click.secho(f"\n$ sonorant {shlex.join(arguments)}", bold=True)
    process = subprocess.Popen(leashed([sys.executable, "-m", "sonorant.cli", *arguments], os.getpid()))
    interrupted = False

    def forward(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        process.terminate()

    before = signal.signal(signal.SIGTERM, forward)
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:  # the terminal sent it to the child too, which now saves its state
            interrupted = True
    signal.signal(signal.SIGTERM, before)
    return Ended(code if code >= 0 else 128 - code, interrupted)
