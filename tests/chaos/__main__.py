"""`make chaos`: train under injected faults, and prove that each example was committed exactly once an epoch.

Exit codes: 0 exactly once; 1 something was lost, came twice or changed, or work stood still for too long.
"""

import asyncio
import json
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click
from chaos.campaign import Campaign
from chaos.corpus import write_run
from chaos.fleet_run import FleetRun
from chaos.report import write_report
from chaos.variants import EPOCHS, VARIANTS
from chaos.verdict import undisturbed

from sonorant.run_folder import RunFolder

_EXAMPLES_PER_S = 18.0  # over all the time: faults, not the pipeline's speed, shall fill it
_PACE = 45.0  # examples per second while the gang trains; for more than half of the time it starts again
_COMMAND = "command"  # the variant in which `sonorant train` runs


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--minutes", type=click.FloatRange(min=0.2), default=3.0, help="Length; 60: 20,000 examples an epoch.")
@click.option("--seed", type=int, default=None, help="Of the sequence of faults; absent: a new one, which is printed.")
@click.option(
    "--variant", "variants", type=click.Choice([*VARIANTS, _COMMAND]), multiple=True, default=("split", _COMMAND),
    help="Variant of the run; several share the minutes.",
)  # fmt: skip
@click.option("--every", "every_s", default=3.0, help="Seconds between two faults, on average.")
@click.option("--only", multiple=True, metavar="KIND", help="Of the variant `command`: kinds of faults to inject.")
@click.option("--standstill", "bound_s", default=300.0, help="Of the variant `command`: longest that is allowed, s.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/chaos"), help="Folder of the reports.")
@click.option("--keep", is_flag=True, help="Keep the run folder even if all is well.")
def command(minutes, seed, variants, every_s, only, bound_s, out, keep):
    """Inject faults into stages, coordinator, Redis, ranks and links of a training, and verify its examples.

    Variants: fused has all stages in one process; strict judges the sequence of examples too; rounded has payloads of
    16 bits; damaged has records with undecodable audio: exactly these must be rejected. Links lead through proxies that
    cut and delay them, those to every other replica by the local address, the others by TCP. In the variant command
    `sonorant train` itself runs under faults from outside: signals to any process, hangs, a second command, full disks,
    absent shards, a Redis that lost its last writes, and kills between two writes; work may never stand still for
    longer than the supervisor's rule allows.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up then, too
    seed = int(time.time()) if seed is None else seed
    again = f"make chaos SEED={seed} MINUTES={minutes:g} VARIANT='{' '.join(variants)}'"
    folder = Path(tempfile.mkdtemp(prefix="sonorant-chaos-"))
    good = True
    for variant in variants:
        train = _run_command if variant == _COMMAND else _run_fleet
        given = (folder / variant, variant, seed, minutes * 60 / len(variants), every_s)
        outcome = train(*given, *([only, bound_s, keep] if variant == _COMMAND else []))
        good = good and outcome["exact"]
        _report(out / variant, outcome)
    if not good:
        click.echo(f"NOT exactly once, or not without a fault; logs in {folder}; again: {again}", err=True)
        sys.exit(1)
    if not keep:
        shutil.rmtree(folder)


def _run_fleet(folder, variant, seed, duration_s, every_s):
    examples = max(40, round(duration_s * _EXAMPLES_PER_S / EPOCHS))
    click.echo(f"{variant}, seed {seed}, {examples} examples x {EPOCHS} epochs, {duration_s:g} s, folder {folder}")
    run = write_run(folder / "run", examples, variant)
    with ProcessPoolExecutor(1) as pool:
        fleet_run = FleetRun(
            run, seed, duration_s, every_s, _PACE, pool.submit(undisturbed, run, EPOCHS), echo=click.echo
        )
        return asyncio.run(fleet_run.run())


def _run_command(folder, variant, seed, duration_s, every_s, only, bound_s, keep):
    campaign = Campaign(folder, seed, duration_s, every_s, only, bound_s, keep, echo=click.echo)
    click.echo(
        f"{variant}, seed {seed}, {campaign.examples} examples x {EPOCHS} epochs, {duration_s:g} s, folder {folder}"
    )
    with ProcessPoolExecutor(1) as pool:
        expected = pool.submit(undisturbed, RunFolder(folder / "undisturbed"), EPOCHS)
        return asyncio.run(campaign.run(expected)) | {"seed": seed}


def _report(out, outcome):
    out.mkdir(parents=True, exist_ok=True)
    write_report(out, outcome)
    inexact = [verdict for verdict in outcome["verdict"] if not verdict["exact"]]
    click.echo(json.dumps(inexact or outcome["verdict"][:EPOCHS], indent=2))
    if "standstill_s" in outcome:
        click.echo(f"longest standstill {outcome['standstill_s']} s, after {outcome['standstill_after']}")
    click.echo(f"report: {out / 'chaos.json'}, {out / 'recovery.png'}")


if __name__ == "__main__":
    command()
