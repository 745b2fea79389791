"""`sonorant transcribe`: reads recordings, streams them, and lays out transcripts."""

import asyncio
import json
import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import grpc

from services.process.tls_probe import why_refused
from services.recognizer.process import running_recognizer
from services.recognizer_client.captions import Captions
from services.recognizer_client.client import (
    ModelInfo,
    ask_model,
    connect,
    open_recognizer,
    stream_audio,
    stream_recording,
)
from services.recognizer_client.recordings import microphone, read_recording
from services.recognizer_client.transcript import StreamedTranscript, read_event
from sonorant.errors import BadAudio, SonorantError, Unavailable
from sonorant.file_names import shown
from sonorant.run_folder import RunFolder
from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

__all__ = ["Layout", "Request", "transcribe", "transcribe_with_own_recognizer"]


class _Refused(SonorantError):
    """Recordings that could not be transcribed, or a request that the recognizer refused."""

    exit_code = 65


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of transcripts: JSON lines, words with times, and how many alternatives."""

    as_json: bool = False
    words: bool = False
    nbest: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """Recordings and how to send them; see the options of `sonorant transcribe`."""

    files: tuple[Path, ...]
    model: str = ""
    mic: bool = False
    paced: bool = False
    streams: int = 1
    chunk_ms: float = 100.0
    layout: Layout = Layout()

    def config(self) -> pb.RecognitionConfig:
        """Return the config that every stream begins with."""
        features = pb.RecognitionFeatures(
            enable_word_time_offsets=True, enable_word_confidence=True, max_alternatives=self.layout.nbest
        )
        return pb.RecognitionConfig(model=self.model, features=features)


def transcribe_with_own_recognizer(run: Path, request: Request) -> None:
    """Transcribe with a recognizer of the models of `run`, started for this call."""
    with running_recognizer(RunFolder(run).exports) as address:
        transcribe(address, request)


def transcribe(address: str, request: Request) -> None:
    """Transcribe with the recognizer at `address`, in the order of the files; raises SonorantError."""
    try:
        asyncio.run(_transcribe(address, request))
    except grpc.aio.AioRpcError as error:
        raise _in_words(address, error) from error
    except ExceptionGroup as group:  # of the first of several recordings
        raise group.exceptions[0] from None


def _in_words(address: str, error: grpc.aio.AioRpcError) -> SonorantError:
    """Return the error of a call as a SonorantError."""
    if error.code() != grpc.StatusCode.UNAVAILABLE:
        return _Refused(f"{address}: {error.code().name}: {error.details()}")
    if why := why_refused(address):
        return Unavailable(f"{address}: the recognizer refuses the connection: {why}")
    return Unavailable(f"{address}: no recognizer answers: {error.details()}; is it running?")


async def _transcribe(address: str, request: Request) -> None:
    async with open_recognizer(address) as channel:
        stub = connect(channel)
        info = await ask_model(stub, request.model)
        if request.mic:
            await _transcribe_microphone(stub, info, request)
        else:
            await _Batch(address, stub, info, request).transcribe()


class _Batch:
    """Recordings side by side; one that fails costs itself alone, unless no recognizer answers any more."""

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
        """Show the transcripts in the order of the files; raises SonorantError at the end if any failed."""
        request, failed = self._request, 0
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(path)) for path in request.files]
            for path, task in zip(request.files, tasks, strict=True):
                outcome = await task
                if isinstance(outcome, StreamedTranscript):
                    _show(path, outcome, request.layout, named=len(request.files) > 1)
                elif outcome is not self._lost:
                    failed += 1
                    click.echo(f"sonorant: {outcome}", err=True)
        if self._lost:
            raise self._lost
        if failed:
            raise _Refused(f"{failed} of {len(request.files)} recordings could not be transcribed")

    async def _one(self, path: Path) -> StreamedTranscript | SonorantError:
        request, rate_hz = self._request, self._info.sample_rate_hz
        async with self._slots:
            if self._lost:
                return self._lost
            try:
                samples = await asyncio.to_thread(read_recording, path, rate_hz)
                return await stream_recording(
                    self._stub,
                    samples,
                    rate_hz,
                    request.config(),
                    chunk_ms=request.chunk_ms,
                    paced=request.paced,
                    max_stream_s=self._info.max_stream_s,
                )
            except BadAudio as error:
                return error
            except grpc.aio.AioRpcError as error:
                return await self._failure(path, error)

    async def _failure(self, path: Path, error: grpc.aio.AioRpcError) -> SonorantError:
        """Return why a recording's stream failed: by its own fault, or because no recognizer answers."""
        if error.code() == grpc.StatusCode.UNAVAILABLE:
            try:
                await ask_model(self._stub, self._request.model)
            except grpc.aio.AioRpcError as gone:
                self._lost = self._lost or _in_words(self._address, gone)
                return self._lost
        return _Refused(f"{shown(path)}: {self._address}: {error.code().name}: {error.details()}")


def _show(path: Path, transcript: StreamedTranscript, layout: Layout, *, named: bool) -> None:
    if layout.as_json:
        click.echo(json.dumps({"id": path.stem, "file": str(path), **_figures(transcript)}))
        return
    prefix = f"{path}: " if named else ""
    for text, confidence in transcript.alternatives if layout.nbest > 1 else [(transcript.text, 1.0)]:
        click.echo(f"{prefix}{text}" + (f"  ({confidence:.3f})" if layout.nbest > 1 else ""))
    if layout.words:
        for word in transcript.words:
            click.echo(f"  {word.start_s:7.2f} {word.end_s:7.2f}  {word.confidence:.3f}  {word.word}")


def _figures(transcript: StreamedTranscript) -> dict[str, object]:
    """Return a transcript as JSON has it: of its interim results only the first one's arrival."""
    interim = [event.arrival_s for event in transcript.events if not event.is_final]
    return {
        "text": transcript.text,
        "words": [asdict(word) for word in transcript.words],
        "alternatives": [{"text": text, "confidence": confidence} for text, confidence in transcript.alternatives],
        "model": transcript.model,
        "audio_s": transcript.audio_s,
        "first_interim_s": interim[0] if interim else None,
        "final_after_audio_s": transcript.final_s - transcript.audio_end_s,
    }


async def _transcribe_microphone(
    stub: "recognizer_pb2_grpc.RecognizerAsyncStub", info: ModelInfo, request: Request
) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopping.set)

    async def until_stopped(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            if stopping.is_set():
                return
            yield chunk

    with microphone(info.sample_rate_hz, request.chunk_ms) as chunks:
        click.echo("listening; Ctrl-C ends", err=True)
        audio = until_stopped(chunks)
        captions = Captions()
        async for response, _ in stream_audio(stub, audio, info.sample_rate_hz, request.config()):
            event = read_event(response, 0.0)
            columns = shutil.get_terminal_size().columns  # it may change
            spoken = event.is_final and event.text  # a final result of silence ends no line
            line = captions.final(event.text) if spoken else captions.interim(event.text, columns)
            click.echo(line, nl=False)
