"""`sonorant transcribe`: recordings, or the microphone, to text."""

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource

from services.process.parameters import GivenPath, NumberRange
from sonorant.cli.settings import find_run, host_port

if TYPE_CHECKING:
    from services.recognizer_client.layout import Layout

__all__ = ["command"]

_OF_RECORDINGS = ("paced", "streams", "format", "as_json", "output", "words", "nbest")


def _given_of_recordings() -> str:
    """Return the options that are given, of those that are for recordings alone, as a list in words."""
    context = click.get_current_context()
    options = {option.name: option for option in context.command.params}
    given = [name for name in _OF_RECORDINGS if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    return ", ".join(max(options[name].opts, key=len) for name in given)


def _phrases(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Return phrases with their boosts, 0 where there is none."""
    if not values:
        return {}
    from sonorant.serving.phrases import MOST_BOOST

    boosts = {}
    for value in values:
        text, equals, boost = value.partition("=")
        try:
            boosts[text] = float(boost) if equals else 0.0
        except ValueError:
            boosts[text] = math.nan
        if not text.strip() or (equals and not 0 < boosts[text] <= MOST_BOOST):
            raise click.BadParameter(
                f"found {value!r}, expected TEXT or TEXT=BOOST with a boost above 0, {MOST_BOOST:g} at most, such as "
                "'new york=3'"
            )
    return boosts


@click.command("transcribe")
@click.argument("files", nargs=-1, type=GivenPath(path_type=Path, readable=False))
@click.option("--server", metavar="HOST:PORT", callback=host_port("localhost:50051"), help="The recognizer.")
@click.option(
    "--run", "run", type=click.Path(path_type=Path), help="Folder of a run: start a recognizer for its model."
)
@click.option("--model", default="", help="Model to use; absent: the only one.")
@click.option("--mic", is_flag=True, help="Transcribe the microphone until Ctrl-C; a file gets final results alone.")
@click.option("--paced", is_flag=True, help="Send recordings in real time, not as fast as possible.")
@click.option("--streams", type=click.IntRange(1), default=1, show_default=True, help="Recordings streamed at once.")
@click.option("--chunk-ms", type=NumberRange(1, 60_000), default=100.0, show_default=True, help="Audio a message.")
@click.option(
    "--format",
    type=click.Choice(["text", "srt", "vtt", "json"]),
    default="text",
    show_default=True,
    help="srt, vtt: captions.",
)
@click.option("--json", "as_json", is_flag=True, help="As --format json: text, words, alternatives, latency; a line.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for a file a recording; one whose file is there is not transcribed again.",
)
@click.option(
    "--written",
    default="",
    metavar="LANGUAGE",
    help="Written form, $5 for five dollars: en, fr or ko.",
)
@click.option(
    "--phrase", "phrases", multiple=True, metavar="TEXT[=BOOST]", callback=_phrases,
    help="A phrase that is likelier to be said; boost of each of its words, to 20; absent: the model's. Repeatable.",
)  # fmt: skip
@click.option("--without-language-model", is_flag=True, help="The model's language model does not count.")
@click.option(
    "--api-key-file",
    type=click.Path(path_type=Path),
    help="File with the API key for the recognizer; absent: SONORANT_API_KEY, if it asks for one.",
)
@click.option("--words", is_flag=True, help="Show each word with its time and confidence.")
@click.option("--nbest", type=click.IntRange(1, 30), default=1, show_default=True, help="Alternatives to show.")
def command(
    files: tuple[Path, ...],
    server: str | None,
    run: Path | None,
    model: str,
    mic: bool,
    paced: bool,
    streams: int,
    chunk_ms: float,
    format: Literal["text", "srt", "vtt", "json"],
    as_json: bool,
    output: Path | None,
    written: str,
    phrases: dict[str, float],
    without_language_model: bool,
    api_key_file: Path | None,
    words: bool,
    nbest: int,
) -> None:
    """Stream FILES, in any format that soundfile reads or Opus in WebM, to a recognizer and print transcripts.

    Of a folder all recordings below it are streamed, but hidden ones and those in hidden folders; a pattern in quotes
    is expanded. A file that cannot be read is named and skipped.

    Exit codes: 65 a recording or the run cannot be used, or the recognizer refuses the request; 69 the recognizer is
    gone, or the output cannot be written; 77 the API key is missing, wrong or cannot be read.
    """
    _check_sources(files, mic, server, run)
    from services.recognizer_client.layout import Layout
    from services.recognizer_client.patterns import expanded

    if mic and (given := _given_of_recordings()):
        raise click.UsageError(f"--mic prints text as it is spoken; for recordings alone: {given}")
    files = expanded(files)
    if as_json and format not in ("text", "json"):
        raise click.UsageError(f"--json with --format {format}: expected one of them")
    layout = Layout("json" if as_json else format, words, nbest)
    _check_captions(layout, files, output)
    from services.recognizer_client.api_key import read_api_key
    from services.recognizer_client.transcribing import Request, transcribe, transcribe_with_own_recognizer
    from services.recognizer_client.wanted import Wanted

    api_key = read_api_key(api_key_file) if api_key_file is not None else None
    wanted = Wanted(model, written, nbest, phrases, not without_language_model)
    request = Request(files, output, wanted, mic, paced, streams, chunk_ms, layout, api_key)
    if server is not None:
        transcribe(server, request)
    elif run is not None:
        transcribe_with_own_recognizer(find_run(run).path, request)


def _check_sources(files: tuple[Path, ...], mic: bool, server: str | None, run: Path | None) -> None:
    if bool(files) == mic:
        raise click.UsageError("give either recordings or --mic")
    if (server is None) == (run is None):
        raise click.UsageError("give either --server or --run")


def _check_captions(layout: "Layout", files: tuple[Path, ...], output: Path | None) -> None:
    if layout.format not in ("srt", "vtt"):
        return
    if output is None and (len(files) > 1 or os.path.isdir(files[0])):
        raise click.UsageError(f"--format {layout.format} of several recordings is a file each: give --output FOLDER")
    if layout.words or layout.nbest > 1:
        raise click.UsageError(f"--format {layout.format} is of the best words alone; --words and --nbest are for text")
