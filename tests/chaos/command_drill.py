"""How soon work flows again in `sonorant train`, by kind of process and kind of fault, each by itself.

`python -m chaos.command_drill`, the second half of `make drill`. The time is that from the fault to the first example
or step after the longest pause that follows it, the supervisor's time-outs and all starts included.
Nothing here has a limit but `--standstill`: if work does not flow again within that, the exit code is 1.
"""

import asyncio
import json
import signal
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import click
from chaos.corpus import write_run
from chaos.disk import can_mount
from chaos.faults import NEED_DISK, Blow, Fault
from chaos.ground import Ground
from chaos.standstill import Standstill, times

from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import load_recipe

__all__: list[str] = []

_EXAMPLES, _PACE = 3000, 20.0  # more than a drill uses
_OTHERS = (Fault("second", "command"), Fault("fill", "logs"), Fault("fill", "run"), Fault("hide", "shards"),
           Fault("cut", "aof"), Fault("kill", "rank", "checkpoint"), Fault("kill", "rank", "restore"))  # fmt: skip
_NOT_HERE = {("hang", "command"), ("hang", "mpirun")}  # not detected: no supervisor is left; not needed before the end
_LOOK_S = 12.0  # pauses that begin later are not the fault's


def _blows(stages):
    for verb in ("kill", "term", "hang"):
        for stage in stages:
            yield Blow(Fault(verb, "stage"), stage, 0, 0.0, False)
        for noun in ("coordinator", "redis", "rank", "mpirun", "command"):
            if (verb, noun) not in _NOT_HERE:
                yield Blow(Fault(verb, noun), stages[0], 0, 0.0, False)
    for fault in _OTHERS:
        yield Blow(fault, stages[0], 300, {"fill": 6.0, "hide": 1.0}.get(fault.verb, 0.0), False)


def _name(blow):
    return f"{blow.fault.verb} {blow.stage}" if blow.fault.noun == "stage" else blow.fault.kind


async def _time(ground, blow):
    """Strike once; return the seconds until work flows again."""
    await ground.flowing(time.monotonic())
    await asyncio.sleep(3.0)
    struck_s = time.monotonic()
    await ground.strike(blow)
    await asyncio.sleep(max(0.0, struck_s + _LOOK_S - time.monotonic()))
    await ground.flowing(time.monotonic())
    after = [t for t in times(ground.records, "arrivals", "steps") if t > struck_s]
    _, again_s = max((b - a, b) for a, b in pairwise([struck_s, *after]))
    return round(again_s - struck_s, 1)


async def drill(folder, rounds, only, bound_s, say):
    """Return the times by fault; None where work did not resume."""
    on_disks = can_mount(folder)
    ground, keeping, figures = None, None, {}
    stages = stage_order(load_recipe(write_run(folder / "recipe", 1).recipe))
    blows = [
        b for b in _blows(stages) if (not only or _name(b) in only) and (on_disks or b.fault.noun not in NEED_DISK)
    ]
    if not on_disks:
        say("left out: full disks: mounting is not permitted here")
    try:
        for number, blow in enumerate(blow for blow in blows for _ in range(rounds)):
            if ground is None or blow.fault.gang_ends:  # the supervisor's policy allows few starts of a gang
                if ground is not None:
                    await _end(ground, keeping)
                ground = Ground(folder / f"{number}", lambda path: write_run(path, _EXAMPLES), _PACE, bound_s, on_disks)
                keeping = asyncio.create_task(ground.command.keep())
            try:
                found = await _time(ground, blow)
            except Standstill as error:
                say(str(error))
                found = None
                await _end(ground, keeping)
                ground = None
            figures.setdefault(_name(blow), []).append(found)
            say(f"{_name(blow):28} {'work does not flow again' if found is None else f'{found:.1f} s'}")
    finally:
        if ground is not None:
            await _end(ground, keeping)
    return figures


async def _end(ground, keeping):
    keeping.cancel()
    await ground.close(keep=False)


@click.command()
@click.option("--rounds", default=1, show_default=True, help="How often each fault comes.")
@click.option("--only", multiple=True, metavar="NAME", help="Faults to try, such as 'hang room'; absent: all.")
@click.option("--standstill", "bound_s", default=300.0, show_default=True, help="When work counts as over, s.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the figures, as JSON.")
def command(rounds, only, bound_s, out):
    """Measure recovery of `sonorant train` after each fault of each process."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up then, too
    with tempfile.TemporaryDirectory(prefix="sonorant-drill-", ignore_cleanup_errors=True) as folder:
        figures = asyncio.run(drill(Path(folder), rounds, only, bound_s, click.echo))
    click.echo(json.dumps(figures))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(figures, indent=2) + "\n")
    if dead := [name for name, found in figures.items() if None in found]:
        click.echo(f"no work within {bound_s:g} s after: {', '.join(dead)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    command()
