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
from chaos.faults import NEED_DISK, Fault, Injection
from chaos.standstill import Standstill, times
from chaos.testbed import Testbed

from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import load_recipe

__all__: list[str] = []

_EXAMPLES, _PACE = 3000, 20.0  # more than a drill uses
_OTHERS = (Fault("second", "command"), Fault("fill", "logs"), Fault("fill", "run"), Fault("hide", "shards"),
           Fault("cut", "aof"), Fault("kill", "rank", "checkpoint"), Fault("kill", "rank", "restore"))  # fmt: skip
_NOT_HERE = {("hang", "command"), ("hang", "mpirun")}  # not detected: no supervisor is left; not needed before the end
_LOOK_S = 12.0  # pauses that begin later are not the fault's


def _injections(stages):
    for verb in ("kill", "term", "hang"):
        for stage in stages:
            yield Injection(Fault(verb, "stage"), stage, 0, 0.0, False)
        for noun in ("coordinator", "redis", "rank", "mpirun", "command"):
            if (verb, noun) not in _NOT_HERE:
                yield Injection(Fault(verb, noun), stages[0], 0, 0.0, False)
    for fault in _OTHERS:
        yield Injection(fault, stages[0], 300, {"fill": 6.0, "hide": 1.0}.get(fault.verb, 0.0), False)


def _name(injection):
    return f"{injection.fault.verb} {injection.stage}" if injection.fault.noun == "stage" else injection.fault.kind


async def _time(testbed, injection):
    """Strike once; return the seconds until work flows again."""
    await testbed.flowing(time.monotonic())
    await asyncio.sleep(3.0)
    injected_s = time.monotonic()
    await testbed.inject(injection)
    await asyncio.sleep(max(0.0, injected_s + _LOOK_S - time.monotonic()))
    await testbed.flowing(time.monotonic())
    after = [t for t in times(testbed.records, "arrivals", "steps") if t > injected_s]
    _, again_s = max((b - a, b) for a, b in pairwise([injected_s, *after]))
    return round(again_s - injected_s, 1)


async def drill(folder, rounds, only, bound_s, echo):
    """Return the times by fault; None where work did not resume."""
    on_disks = can_mount(folder)
    testbed, keeping, figures = None, None, {}
    stages = stage_order(load_recipe(write_run(folder / "recipe", 1).recipe))
    injections = [
        b for b in _injections(stages) if (not only or _name(b) in only) and (on_disks or b.fault.noun not in NEED_DISK)
    ]
    if not on_disks:
        echo("left out: full disks: mounting is not permitted here")
    try:
        for number, injection in enumerate(injection for injection in injections for _ in range(rounds)):
            if testbed is None or injection.fault.gang_ends:  # the supervisor's policy allows few starts of a gang
                if testbed is not None:
                    await _end(testbed, keeping)
                testbed = Testbed(
                    folder / f"{number}", lambda path: write_run(path, _EXAMPLES), _PACE, bound_s, on_disks
                )
                keeping = asyncio.create_task(testbed.command.keep())
            try:
                found = await _time(testbed, injection)
            except Standstill as error:
                echo(str(error))
                found = None
                await _end(testbed, keeping)
                testbed = None
            figures.setdefault(_name(injection), []).append(found)
            echo(f"{_name(injection):28} {'work does not flow again' if found is None else f'{found:.1f} s'}")
    finally:
        if testbed is not None:
            await _end(testbed, keeping)
    return figures


async def _end(testbed, keeping):
    keeping.cancel()
    await testbed.close(keep=False)


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
