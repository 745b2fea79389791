"""`make chaos`: train while everything is hit, and prove that each example was committed exactly once an epoch.

Exit codes: 0 exactly once; 1 something was lost, came twice or changed; 70 a process did not stay up.
"""

import asyncio
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click
from chaos.arena import Arena
from chaos.corpus import EPOCHS, write_run
from chaos.report import write_report
from chaos.variants import VARIANTS
from chaos.verdict import undisturbed

_EXAMPLES_PER_S = 18.0  # over all the time: blows, not the pipeline's speed, shall fill it
_PACE = 45.0  # examples per second while the gang trains; for more than half of the time it starts again


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--minutes", type=click.FloatRange(min=0.2), default=3.0, help="Length; 60: 20,000 examples an epoch.")
@click.option("--seed", type=int, default=None, help="Of the sequence of blows; absent: a new one, which is printed.")
@click.option("--variant", type=click.Choice(list(VARIANTS)), default="split", help="What the run is of.")
@click.option("--every", "every_s", default=3.0, help="Seconds between two blows, on average.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/chaos"), help="Folder of the report.")
@click.option("--keep", is_flag=True, help="Keep the run folder even if all is well.")
def command(minutes, seed, variant, every_s, out, keep):
    """Hit stages, coordinator, Redis, ranks and links of a training, and judge what became of its examples.

    Variants: fused has all stages in one process; strict judges the sequence of examples too; rounded has payloads of
    16 bits; damaged has records whose audio nobody can decode, which must be rejected, those and no others. Links lead
    through what cuts and delays them, those to every other replica by the local way, the others by TCP.
    """
    seed = int(time.time()) if seed is None else seed
    examples = max(40, round(minutes * 60 * _EXAMPLES_PER_S / EPOCHS))
    folder = Path(tempfile.mkdtemp(prefix="sonorant-chaos-"))
    click.echo(
        f"{variant}, seed {seed}, {examples} examples x {EPOCHS} epochs, {minutes:g} minutes, run folder {folder}"
    )
    run = write_run(folder / "run", examples, variant)
    with ProcessPoolExecutor(1) as pool:
        expected = pool.submit(undisturbed, run, EPOCHS)
        arena = Arena(run, seed, minutes * 60, every_s, _PACE, expected, say=click.echo)
        outcome = asyncio.run(arena.fight())
    out.mkdir(parents=True, exist_ok=True)
    write_report(out, outcome)
    click.echo(json.dumps(outcome["verdict"], indent=2))
    click.echo(f"report: {out / 'chaos.json'}, {out / 'recovery.png'}")
    if not outcome["exact"]:
        again = f"make chaos SEED={seed} MINUTES={minutes:g} VARIANT={variant}"
        click.echo(f"NOT exactly once; logs in {run.logs}; again: {again}", err=True)
        sys.exit(1)
    if not keep:
        import shutil

        shutil.rmtree(folder)


if __name__ == "__main__":
    command()
