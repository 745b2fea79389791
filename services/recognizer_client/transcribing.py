"""`sonorant transcribe`: reads recordings, streams them, and lays out transcripts."""

import asyncio
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
import grpc

from services.recognizer.process import running_recognizer
from services.recognizer_client.api_key import API_KEY_VARIABLE
from services.recognizer_client.call_error import Refused, call_error
from services.recognizer_client.captions import Captions
from services.recognizer_client.client import (
    ModelInfo,
    ask_model,
    connect,
    open_recognizer,
    stream_audio,
    stream_recording,
)
from services.recognizer_client.layout import Layout, render
from services.recognizer_client.live_line import Show, live_line
from services.recognizer_client.microphone import microphone
from services.recognizer_client.outputs import Output, left_out, outputs_of
from services.recognizer_client.recordings import read_recording
from services.recognizer_client.retrying import lost_status_delay_s
from services.recognizer_client.transcript import StreamedTranscript, StreamEvent, read_event
from services.recognizer_client.wanted import Wanted
from sonorant.arrays import Waveform
from sonorant.atomic import atomic_write
from sonorant.errors import BadAudio, SonorantError, Unavailable
from sonorant.file_names import shown
from sonorant.run_folder import RunFolder
from sonorant.v1 import recognizer_pb2_grpc

__all__ = ["Request", "transcribe", "transcribe_with_own_recognizer"]

_TRIES = 3  # of a recording whose recognizer goes while it has it
_MOST_SUFFIXES = 8  # that are named
_KEY_ADVICE = f"set {API_KEY_VARIABLE}, or give --api-key-file FILE"


class _NotTranscribed(SonorantError):
    """Recordings that could not be transcribed; each has been named, with the reason."""

    exit_code = 65


@dataclass(frozen=True, slots=True)
class Request:
    """Recordings, how to send them and where transcripts go; see the options of `sonorant transcribe`."""

    files: tuple[Path, ...]
    output: Path | None = None
    wanted: Wanted = field(default_factory=Wanted)
    mic: bool = False
    paced: bool = False
    streams: int = 1
    chunk_ms: float = 100.0
    layout: Layout = field(default_factory=Layout)
    api_key: str | None = field(default=None, repr=False)


def transcribe_with_own_recognizer(run: Path, request: Request) -> None:
    """Transcribe with a recognizer of the models of `run`, started for this call."""
    with running_recognizer(RunFolder(run).exports) as address:
        transcribe(address, request)


def transcribe(address: str, request: Request) -> None:
    """Transcribe with the recognizer at `address`, in the order of the files; raises SonorantError."""
    try:
        asyncio.run(_transcribe(address, request))
    except grpc.aio.AioRpcError as error:
        raise call_error(address, error, _KEY_ADVICE) from error
    except ExceptionGroup as group:  # of the first of several recordings
        raise group.exceptions[0] from None


async def _transcribe(address: str, request: Request) -> None:
    async with open_recognizer(address) as channel:
        stub = connect(channel, request.api_key)
        info = await ask_model(stub, request.wanted.model)
        if request.mic:
            await _transcribe_microphone(stub, info, request)
        else:
            await _Batch(address, stub, info, request).transcribe()


class _Batch:
    """Recordings side by side, but for those that have their output already.

    One that fails costs itself alone, unless no recognizer answers any more.
    """

    def __init__(
        self, address: str, stub: "recognizer_pb2_grpc.RecognizerAsyncStub", info: ModelInfo, request: Request
    ) -> None:
        self._address = address
        self._stub = stub
        self._info = info
        self._request = request
        self._slots = asyncio.Semaphore(request.streams)
        self._lost: SonorantError | None = None

    async def transcribe(self) -> None:
        """Print transcripts in the order of the files, or write them; raises SonorantError at the end if any failed."""
        layout, failures = self._request.layout, list[SonorantError]()
        found = outputs_of(self._request.files, self._request.output, layout.suffix)
        if others := left_out(self._request.files, found):
            click.echo(_said_of(others), err=True)
        wanted = [one for one in found if one.fault or one.path is None or not os.path.exists(one.path)]
        if len(wanted) < len(found):
            click.echo(f"{len(found) - len(wanted)} of {len(found)} recordings have their output already", err=True)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(output, alone=len(found) == 1)) for output in wanted]
            for task in tasks:
                outcome = await task
                if isinstance(outcome, str):
                    click.echo(outcome, nl=False)
                elif outcome is not self._lost:
                    failures.append(outcome)
                    click.echo(f"sonorant: {outcome}", err=True)
        if self._lost:
            raise self._lost
        if failures:
            said = f"{len(failures)} of {len(wanted)} recordings could not be transcribed"
            raise Unavailable(said) if any(isinstance(one, Unavailable) for one in failures) else _NotTranscribed(said)

    async def _one(self, output: Output, *, alone: bool) -> str | SonorantError:
        """Transcribe a recording; return what is to be printed: nothing of one that is written to its file at once.

        alone: of one that is not, lines of text have no name, and a terminal shows its words while they are recognized.
        """
        if output.fault:
            return BadAudio(shown(output.recording), output.fault)
        live = live_line if alone and output.path is None and sys.stdout.isatty() else _shown_nowhere
        async with self._slots:
            if self._lost:
                return self._lost
            transcript = await self._transcript(output.recording, live)
        if isinstance(transcript, SonorantError):
            return transcript
        rendered = render(output, transcript, self._request.layout, named=not alone and output.path is None)
        if output.path is None:
            return rendered
        await asyncio.to_thread(atomic_write, output.path, rendered)
        return ""

    async def _transcript(
        self, recording: Path, live: Callable[[], AbstractContextManager[Show]]
    ) -> StreamedTranscript | SonorantError:
        """Return a transcript, or why there is none.

        If the recognizer goes while it has the recording, that is sent again to another one at the address, as a whole.
        """
        try:
            samples = await asyncio.to_thread(read_recording, recording, self._info.sample_rate_hz)
        except BadAudio as error:
            return error
        failure: SonorantError | None = None
        for _ in range(_TRIES):
            try:
                with live() as show:
                    return await self._streamed(samples, show)
            except grpc.aio.AioRpcError as error:
                failure = await self._failure(recording, error)
            if failure is self._lost or not isinstance(failure, Unavailable):
                break
        assert failure is not None
        return failure

    async def _streamed(self, samples: Waveform, show: Show) -> StreamedTranscript:
        request = self._request
        return await stream_recording(
            self._stub,
            samples,
            self._info.sample_rate_hz,
            request.wanted.config(),
            chunk_ms=request.chunk_ms,
            paced=request.paced,
            max_stream_s=self._info.max_stream_s,
            show=show,
        )

    async def _failure(self, path: Path, error: grpc.aio.AioRpcError) -> SonorantError:
        """Return why a recording's stream failed: by its own fault, or Unavailable, which is lost if none answers."""
        said = f"{shown(path)}: {self._address}: {error.code().name}: {error.details()}"
        if error.code() != grpc.StatusCode.UNAVAILABLE and lost_status_delay_s(error) is None:
            return Refused(said)
        try:
            await ask_model(self._stub, self._request.wanted.model)
        except grpc.aio.AioRpcError as gone:
            self._lost = self._lost or call_error(self._address, gone, _KEY_ADVICE)
            return self._lost
        return Unavailable(said)


@contextmanager
def _shown_nowhere() -> Iterator[Show]:
    yield lambda _: None


def _said_of(others: Counter[str]) -> str:
    named = [f"{count} {shown(suffix) or 'without one'}" for suffix, count in others.most_common(_MOST_SUFFIXES)]
    return f"{others.total()} left out by their suffixes: {', '.join(named)}{', …' if len(others) > len(named) else ''}"


async def _transcribe_microphone(
    stub: "recognizer_pb2_grpc.RecognizerAsyncStub", info: ModelInfo, request: Request
) -> None:
    with microphone(info.sample_rate_hz, request.chunk_ms) as (chunks, end):
        _at_ctrl_c(end)
        click.echo("listening; Ctrl-C ends", err=True)
        show = _spoken_line(Captions()) if sys.stdout.isatty() else _final_line
        async with aclosing(stream_audio(stub, chunks, info.sample_rate_hz, request.wanted.config())) as responses:
            async for response in responses:
                click.echo(show(read_event(response, 0.0)), nl=False)


def _at_ctrl_c(end: Callable[[], None]) -> None:
    """Call `end` at the first Ctrl-C; a second one ends the command, which may wait for a recognizer."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        end()

    loop.add_signal_handler(signal.SIGINT, first)


def _spoken_line(captions: Captions) -> Callable[[StreamEvent], str]:
    def line(event: StreamEvent) -> str:
        columns = shutil.get_terminal_size().columns  # it may change
        spoken = event.is_final and event.text  # a final result of silence ends no line
        return captions.final(event.text) if spoken else captions.interim(event.text, columns)

    return line


def _final_line(event: StreamEvent) -> str:
    return f"{event.text}\n" if event.is_final and event.text else ""
