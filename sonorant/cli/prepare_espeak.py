"""`sonorant prepare espeak`: recordings that a speech synthesizer makes."""

import os
from pathlib import Path

import click

from sonorant.cli.progress import progress_bar

__all__ = ["command"]


@click.command("espeak")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "--out", "folder", required=True, type=click.Path(path_type=Path), help="Folder to write."
)
@click.option("--utterances", default=5000, show_default=True, type=click.IntRange(min=1), help="Utterances to speak.")
@click.option("--speakers", default=60, show_default=True, type=click.IntRange(min=1), help="Voices that speak them.")
@click.option("--language", help="Language, such as fr; default: the grammar's, English for a text file.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of texts and voices.")
@click.option("--jobs", type=click.IntRange(min=1), help="Voices that speak at once; default: one per processor.")
def command(
    source: Path, folder: Path, utterances: int, speakers: int, language: str | None, seed: int, jobs: int | None
) -> None:
    """Let espeak-ng speak SOURCE, and write it as a corpus for reader=manifest.

    SOURCE is a grammar (.yaml), of which distinct sentences are drawn, or a text file with a word or a sentence a line,
    which are spoken in shuffled passes. Each utterance has one of the voices and a speed, pitch and loudness that are
    drawn by its id: with one version of espeak-ng the same seed gives the same samples. The speech is synthetic.

    Exit codes: 0 the corpus is there; 65 SOURCE cannot be used, or the folder holds something else; 69 espeak-ng is
    missing or fails, or the disk refuses.
    """
    from sonorant.cli.espeak import find_espeak
    from sonorant.cli.espeak_corpus import read_script, speak_corpus

    espeak = find_espeak()
    script = read_script(source, utterances, seed, language)
    with progress_bar() as bar:
        task = bar.add_task("speaking", total=len(script.texts))
        hours = speak_corpus(
            espeak,
            script,
            folder,
            speakers=speakers,
            seed=seed,
            jobs=jobs if jobs is not None else len(os.sched_getaffinity(0)),
            progress=lambda done: bar.update(task, completed=done),
        )
    manifest = folder / "manifest.jsonl"
    if hours is None:
        click.echo(f"nothing to do in {folder}")
    else:
        spoken = min(speakers, len(script.texts))
        click.echo(f"{len(script.texts)} utterances, {hours:.3f} h, {spoken} speaker(s) in {manifest}")
