"""A `sonorant` command as a child process of another one."""

import os
import shlex
import signal
import subprocess
import sys
from types import FrameType
from typing import NamedTuple

import click

from services.process.leash import leashed

__all__ = ["Ended", "run_command"]

_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


class Ended(NamedTuple):
    """How a child ended. code: as a shell has it; interrupted: whether SIGINT, SIGTERM or SIGHUP came while it ran."""

    code: int
    interrupted: bool


def run_command(*arguments: str) -> Ended:
    """Run and show one `sonorant` command, and wait for its end.

    SIGTERM and SIGHUP are forwarded to it, SIGINT comes from the terminal; it ends when this process is killed.
    """
    click.secho(f"\n$ sonorant {shlex.join(arguments)}", bold=True)
    process = subprocess.Popen(leashed([sys.executable, "-m", "sonorant.cli", *arguments], os.getpid()))
    interrupted = False

    def forward(number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        process.send_signal(number)

    heeded = [number for number in _FORWARDED if signal.getsignal(number) != signal.SIG_IGN]  # as nohup has SIGHUP
    before = {number: signal.signal(number, forward) for number in heeded}
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:  # the terminal sent it to the child too, which now saves its state
            interrupted = True
    for number, handler in before.items():
        signal.signal(number, handler)
    return Ended(code if code >= 0 else 128 - code, interrupted)
