"""`python -m services.evaluation`: checks a recognizer with a few recordings of known text, in real time."""

import asyncio
from pathlib import Path

import click
import grpc

from services.process.options import store_option
from services.process.parameters import NumberRange
from services.process.program import run_program
from services.recognizer_client.client import StreamedTranscript, ask_model, connect, open_recognizer, stream_recording
from services.storage.run import SharedRun, open_run
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import SonorantError, Unavailable
from sonorant.text.scoring import score

__all__ = ["command", "main"]


class _Misheard(SonorantError):
    """The recognizer's transcripts have too many errors."""

    exit_code = 65


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--server", required=True, metavar="HOST:PORT", help="The recognizer.")
@click.option("--run", "run_path", type=click.Path(path_type=Path), required=True, help="Run whose dev set is sent.")
@store_option
@click.option("--utterances", type=click.IntRange(1), default=4, show_default=True, help="Recordings to stream.")
@click.option(
    "--max-wer",
    type=NumberRange(0),
    help="Highest word error rate that passes; absent: any, if any word is recognized.",
)
def command(server: str, run_path: Path, store_url: str, utterances: int, max_wer: float | None) -> None:
    """Stream the first recordings of a run's dev set, at once and in real time, and compare transcripts.

    Exit codes: 0 WER within the limit; 65 too many errors, or no word recognized; 69 no recognizer answers.
    """
    run = open_run(run_path, store_url)
    run.pull_shards()
    examples = list(_first(run, utterances))
    transcripts = asyncio.run(_stream(server, examples))
    for example, transcript in zip(examples, transcripts, strict=True):
        click.echo(f"{transcript.model} {example.utterance}: said {example.text!r}, recognized {transcript.text!r}")
    rate = score((e.text, t.text) for e, t in zip(examples, transcripts, strict=True)).rate
    click.echo(f"WER {rate:.1%} of {len(examples)} recordings")
    if max_wer is None and not any(transcript.text for transcript in transcripts):
        raise _Misheard(f"no word was recognized in any of {len(examples)} recordings; --max-wer 1 would let that pass")
    if max_wer is not None and rate > max_wer:
        raise _Misheard(f"WER {rate:.1%}: the limit is {max_wer:.1%}")


def _first(run: SharedRun, utterances: int) -> list[Example]:
    shards = run.open_shards("dev")
    positions = [shards.locate(ordinal) for ordinal in range(min(utterances, shards.total))]
    return [shards.read(shard, index).example(Lineage(0, shard, index)) for shard, index in positions]


async def _stream(server: str, examples: list[Example]) -> list[StreamedTranscript]:
    try:
        async with open_recognizer(server) as channel:
            stub = connect(channel)
            await ask_model(stub)
            waveforms = [(e.waveform, e.sample_rate_hz) for e in examples if e.waveform is not None]
            return list(await asyncio.gather(*(stream_recording(stub, w, hz, paced=True) for w, hz in waveforms)))
    except grpc.aio.AioRpcError as error:
        raise Unavailable(f"recognizer at {server}: {error.code().name}: {error.details()}") from error


def main() -> None:
    """Probe; an error becomes one line and its exit code."""
    run_program(command, "probe")
