"""A client of the recognizer, synchronous and asynchronous; the import path for other programs.

A streaming loop, with a recording in place of a microphone:

    >>> import soundfile
    >>> from sonorant.audio.pcm import to_int16
    >>> from sonorant.client import Recognizer
    >>> audio, rate_hz = soundfile.read("speech.wav", always_2d=True)
    >>> samples = to_int16(audio.mean(axis=1))
    >>> chunks = (samples[at : at + 800].tobytes() for at in range(0, len(samples), 800))
    >>> with Recognizer("localhost:50051") as recognizer:
    ...     for result in recognizer.stream(chunks, rate_hz):
    ...         print("final" if result.is_final else "interim", result.text)

A stream has one channel, here the mean of all. Of a whole recording `recognizer.transcribe(samples, rate_hz)` returns
the transcript. In a coroutine it is `async with AsyncRecognizer(...)` and `async for`, over chunks of an asynchronous
iterator. Where the recognizer ends a stream (a limit, a drain), the audio that it has not recognized goes on in
another. Every call may raise grpc.aio.AioRpcError, with a status that docs/protocols.md lists.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing, suppress
from typing import Any, Self

from services.recognizer_client.client import (
    Alternative,
    ModelInfo,
    StreamedTranscript,
    StreamEvent,
    ask_model,
    connect,
    open_recognizer,
    read_event,
    stream_audio,
    stream_recording,
)
from services.recognizer_client.samples import as_waveform, check_scale
from services.recognizer_client.wanted import Wanted
from sonorant.arrays import Waveform
from sonorant.audio.pcm import Samples
from sonorant.v1 import recognizer_pb2_grpc

__all__ = [
    "Alternative",
    "AsyncRecognizer",
    "ModelInfo",
    "Recognizer",
    "StreamEvent",
    "StreamedTranscript",
    "Wanted",
]

_GRPC_QUEUE = "PollerCompletionQueue"  # in the names of its callbacks


class AsyncRecognizer:
    """The recognizers at HOST:PORT, within `async with`; raises ValueError for an address without a port.

    api_key: for recognizers that ask for one; absent: that of the environment, in SONORANT_API_KEY.
    """

    def __init__(self, address: str, wanted: Wanted | None = None, api_key: str | None = None) -> None:
        if ":" not in address or address.startswith(("http:", "https:")):
            raise ValueError(f"address={address!r}: expected HOST:PORT, such as localhost:50051")
        self._address = address
        self._wanted = wanted or Wanted()
        self._api_key = api_key
        self._connected: recognizer_pb2_grpc.RecognizerAsyncStub | None = None

    async def __aenter__(self) -> Self:
        self._channel = open_recognizer(self._address)
        self._connected = connect(self._channel, self._api_key)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._connected = None
        await self._channel.close()

    @property
    def _stub(self) -> "recognizer_pb2_grpc.RecognizerAsyncStub":
        if self._connected is None:
            raise RuntimeError("AsyncRecognizer: not connected; use it within `async with`")
        return self._connected

    async def model(self) -> ModelInfo:
        """Return the model that answers, and the rate of its audio."""
        return await ask_model(self._stub, self._wanted.model)

    async def stream(self, chunks: AsyncIterator[bytes], rate_hz: int) -> AsyncGenerator[StreamEvent, None]:
        """Stream 16-bit little-endian samples; yield results, interim and final, as they arrive.

        rate_hz: of the samples; recognizers resample any but the model's. Arrivals count from the call, on the event
        loop's clock. Raises ValueError for no rate, and, behind the last result, an error of the chunks.
        """
        clock = asyncio.get_running_loop().time
        start_s = clock()
        async with aclosing(stream_audio(self._stub, chunks, rate_hz, self._wanted.config())) as responses:
            async for response in responses:
                yield read_event(response, clock() - start_s)

    async def transcribe(self, samples: Waveform | Samples, rate_hz: int) -> StreamedTranscript:
        """Return the transcript of a recording [samples], floats in [-1, 1] or int16, of any length, at `rate_hz`.

        Raises BadAudio for arrays of another type or of several channels, and for samples that are not finite or far
        outside of [-1, 1], before anything is sent.
        """
        check_scale(waveform := as_waveform(samples))
        limit_s = (await self.model()).max_stream_s
        return await stream_recording(self._stub, waveform, rate_hz, self._wanted.config(), max_stream_s=limit_s)


class Recognizer:
    """As `AsyncRecognizer`, for programs without an event loop; within `with`, on one thread.

    Raises RuntimeError where an event loop runs, as in a notebook.
    """

    def __init__(self, address: str, wanted: Wanted | None = None, api_key: str | None = None) -> None:
        self._client = AsyncRecognizer(address, wanted, api_key)
        self._opened: asyncio.Runner | None = None

    @property
    def _runner(self) -> asyncio.Runner:
        if self._opened is None:
            raise RuntimeError("Recognizer: not connected; use it within `with`")
        return self._opened

    def __enter__(self) -> Self:
        _check_no_loop_runs()
        self._opened = asyncio.Runner()
        self._runner.get_loop().set_exception_handler(_report)
        self._runner.run(self._client.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        runner, self._opened = self._runner, None
        runner.run(self._client.__aexit__())
        runner.close()  # and the streams that are left open

    def model(self) -> ModelInfo:
        """Return the model that answers, and the rate of its audio."""
        return self._runner.run(self._client.model())

    def stream(self, chunks: Iterable[bytes], rate_hz: int) -> Iterator[StreamEvent]:
        """As `AsyncRecognizer.stream`; chunks are read, on a thread, while a result is waited for."""
        results = self._client.stream(_asynchronous(iter(chunks)), rate_hz)
        try:
            while (result := self._runner.run(_next(results))) is not None:
                yield result
        finally:
            if self._opened is not None:
                self._runner.run(results.aclose())

    def transcribe(self, samples: Waveform | Samples, rate_hz: int) -> StreamedTranscript:
        """As `AsyncRecognizer.transcribe`."""
        return self._runner.run(self._client.transcribe(samples, rate_hz))


def _check_no_loop_runs() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("an event loop runs on this thread, as in a notebook: expected none; use AsyncRecognizer")


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an error of a callback, unless it is of gRPC's queue, which wakes the loops of all threads for an event.

    All but one find nothing, and that one may find an event of a loop that is closed.
    https://github.com/grpc/grpc/issues/25364
    """
    if _GRPC_QUEUE not in context["message"]:
        loop.default_exception_handler(context)


async def _asynchronous(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield chunks, each read on a thread for which nobody waits at the end: a microphone may block it for ever."""
    loop = asyncio.get_running_loop()
    while True:
        future: asyncio.Future[bytes | None] = loop.create_future()
        threading.Thread(target=_read, args=(chunks, future), daemon=True).start()
        if (chunk := await future) is None:
            return
        yield chunk


def _read(chunks: Iterator[bytes], future: "asyncio.Future[bytes | None]") -> None:
    chunk, error = None, None
    try:
        chunk = next(chunks, None)
    except Exception as raised:
        error = raised
    with suppress(RuntimeError):  # the loop has ended
        future.get_loop().call_soon_threadsafe(_settle, future, chunk, error)


def _settle(future: "asyncio.Future[bytes | None]", chunk: bytes | None, error: Exception | None) -> None:
    if future.done():  # the stream has ended
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(chunk)


async def _next(results: AsyncIterator[StreamEvent]) -> StreamEvent | None:
    return await anext(results, None)
