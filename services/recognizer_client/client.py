"""A streaming client: sends recordings in real time, or as fast as possible, and notes the arrival of results.

All times are in seconds since the stream began, on the event loop's clock.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeAlias, cast

import grpc

from services.coordination.durations import seconds
from services.process.channels import Options, open_aio_channel
from services.process.keys import Keys
from services.recognizer_client.api_key import check_api_key, process_api_key
from services.recognizer_client.replay import Replay
from services.recognizer_client.retrying import retry_delay_s, unanswered_delay_s
from services.recognizer_client.samples import as_waveform
from services.recognizer_client.transcript import (
    Alternative,
    RecognizedWord,
    StreamedTranscript,
    StreamEvent,
    join_events,
    read_event,
)
from sonorant.arrays import Waveform
from sonorant.audio.pcm import to_int16
from sonorant.audio.quiet_places import quiet_cuts
from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

__all__ = [
    "Alternative",
    "ModelInfo",
    "RecognizedWord",
    "StreamEvent",
    "StreamedTranscript",
    "Waits",
    "ask_model",
    "connect",
    "open_recognizer",
    "pcm16",
    "read_event",
    "stream_audio",
    "stream_recording",
]

# A draining recognizer refuses new streams for half a second, and gRPC cancels those that arrive while the connection
# closes. Another may serve behind the same address: before the first result the stream is sent again.
_RETRIES = {
    "maxAttempts": 4,
    "initialBackoff": "0.3s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
}
_SERVICE_CONFIG = json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": _RETRIES}]})
_USUAL_HZ = 16_000
_PATIENCE_S = 60.0  # with a recognizer at capacity, or one that starts anew

Waits: TypeAlias = Callable[[str, float], AbstractContextManager[None]]
"""The context of a wait for capacity, given the recognizer's reason and since when, on the loop's clock, it lasts."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that a recognizer serves: "name/version", its audio's sample rate, and the longest audio of a stream.

    max_stream_s: 0: unknown.
    """

    model: str
    sample_rate_hz: int
    max_stream_s: float = 0.0


def open_recognizer(address: str, options: Options = (), keys: Keys | None = None) -> grpc.aio.Channel:
    """Return a channel to the recognizers at HOST:PORT, whose calls fail over while one of them shuts down.

    keys: default, the process'. Fail-over delays the error by two seconds if no recognizer answers.
    """
    return open_aio_channel(address, (("grpc.service_config", _SERVICE_CONFIG), *options), keys)


def connect(channel: grpc.aio.Channel, api_key: str | None = None) -> "recognizer_pb2_grpc.RecognizerAsyncStub":
    """Return the methods of the recognizer at the other end of `channel`.

    api_key: sent with each call; empty: none is; None: the process' (`SONORANT_API_KEY`). Raises BadApiKey.
    """
    # The class is the same for both kinds of channel; its asynchronous form exists only in the type stubs.
    stub = recognizer_pb2_grpc.RecognizerStub(channel)
    if secret := process_api_key() if api_key is None else check_api_key(api_key, "api_key"):
        for name, method in vars(stub).items():  # gRPC's call credentials would need TLS, also within one machine
            setattr(stub, name, partial(method, metadata=(("authorization", f"Bearer {secret}"),)))
    return cast("recognizer_pb2_grpc.RecognizerAsyncStub", stub)


async def ask_model(stub: "recognizer_pb2_grpc.RecognizerAsyncStub", model: str = "") -> ModelInfo:
    """Return a recognizer's model; raises grpc.aio.AioRpcError."""
    response = await stub.Recognize(pb.RecognizeRequest(config=pb.RecognitionConfig(model=model)))
    metadata = response.metadata
    return ModelInfo(metadata.model, metadata.sample_rate_hertz, metadata.max_stream_duration.ToMicroseconds() / 1e6)


async def stream_recording(
    stub: "recognizer_pb2_grpc.RecognizerAsyncStub",
    samples: Waveform,
    rate_hz: int,
    config: pb.RecognitionConfig | None = None,
    *,
    chunk_ms: float = 100.0,
    paced: bool = False,
    max_stream_s: float = 0.0,
    patience_s: float = _PATIENCE_S,
    waits: Waits = lambda *_: nullcontext(),
    show: Callable[[StreamEvent], None] = lambda _: None,
) -> StreamedTranscript:
    """Stream samples [samples] in [-1, 1] and return the transcript.

    config: model and features wanted; absent: the only model, one alternative, words with times and confidence.
    paced: chunk k is sent when its last sample would have been spoken, at (k + 1) * chunk_ms after the beginning.
    max_stream_s: a longer recording is cut in quiet places, a stream a piece; 0: where the recognizer ends a stream.
    patience_s, waits: with a recognizer that has no capacity, see `stream_audio`. show: is given each event.
    Raises BadAudio for samples that `as_waveform` refuses, and grpc.aio.AioRpcError if the recognizer refuses it.
    """
    clock = asyncio.get_running_loop().time
    chunk = max(1, round(rate_hz * chunk_ms / 1000))
    audio = pcm16(samples)
    start = clock()
    audio_end_s = 0.0

    async def chunks(begin: int, end: int) -> AsyncIterator[bytes]:
        nonlocal audio_end_s
        for at in range(begin, end, chunk):
            until = min(at + chunk, end)
            if paced:
                await asyncio.sleep(start + until / rate_hz - clock())
            audio_end_s = until / rate_hz if paced else clock() - start
            yield audio[2 * at : 2 * until]

    events: list[StreamEvent] = []
    model = ""
    cuts = quiet_cuts(samples, rate_hz, max_stream_s) if max_stream_s else []
    for begin, end in pairwise([0, *cuts, len(samples)]):
        async with aclosing(stream_audio(stub, chunks(begin, end), rate_hz, config, patience_s, waits)) as responses:
            async for response in responses:
                events.append(read_event(response, clock() - start, begin / rate_hz))
                show(events[-1])
                model = response.metadata.model
    return join_events(events, model, len(samples) / rate_hz, audio_end_s)


async def stream_audio(
    stub: "recognizer_pb2_grpc.RecognizerAsyncStub",
    chunks: AsyncIterator[bytes],
    rate_hz: int,
    config: pb.RecognitionConfig | None = None,
    patience_s: float = _PATIENCE_S,
    waits: Waits = lambda *_: nullcontext(),
) -> AsyncGenerator[pb.StreamingRecognizeResponse, None]:
    """Stream 16-bit chunks; yield responses as they arrive; all their times are from the start of the audio.

    The last response of a stream is final. Where the recognizer ends one (a limit, a drain), the audio that it has not
    recognized goes on in another, which is tried for `patience_s` if no recognizer answers. A stream that it has no
    capacity for is tried again for as long, when it says so; until then it is in the context of `waits`. An error of
    the chunks is raised behind the last response.
    """
    clock = asyncio.get_running_loop().time
    wanted = _linear16(config or _everything(), rate_hz)
    audio = Replay(chunks)
    token = ""
    ended, answered_s = True, clock()
    while ended and (not token or not audio.over):
        call, ended, answered = stub.StreamingRecognize(_requests(wanted, token, audio)), False, False
        try:
            async for response in call:
                yield response
                answered, answered_s = True, clock()
                if ended := bool(response.resume_token):
                    call.cancel()
                    token = response.resume_token
                    audio.go_on(2 * round(seconds(response.resume_offset) * rate_hz))
                    break
        except grpc.aio.AioRpcError as error:
            delay_s, wait = retry_delay_s(error), waits(error.details() or "", answered_s)
            if delay_s is None and not answered:
                delay_s, wait = unanswered_delay_s(error, goes_on=bool(token)), nullcontext()
            if delay_s is None or clock() + delay_s > answered_s + patience_s:
                raise
            with wait:
                await asyncio.sleep(delay_s)
            ended = True
        finally:
            call.cancel()  # where the caller leaves in the midst of it
    audio.check()


async def _requests(
    config: pb.RecognitionConfig, token: str, audio: Replay
) -> AsyncIterator[pb.StreamingRecognizeRequest]:
    wanted = pb.StreamingRecognitionFeatures(interim_results=True)
    yield pb.StreamingRecognizeRequest(
        streaming_config=pb.StreamingRecognitionConfig(config=config, streaming_features=wanted, resume_token=token)
    )
    async for chunk in audio.chunks():
        yield pb.StreamingRecognizeRequest(audio=chunk)


def _linear16(config: pb.RecognitionConfig, rate_hz: int) -> pb.RecognitionConfig:
    """Return the config of a stream of 16-bit samples; raises ValueError for no rate."""
    if rate_hz < 1:
        raise ValueError(f"rate_hz={rate_hz}: expected samples a second; {_USUAL_HZ} are usual")
    wanted = pb.RecognitionConfig()
    wanted.CopyFrom(config)
    wanted.explicit_decoding_config.encoding = pb.ExplicitDecodingConfig.LINEAR16
    wanted.explicit_decoding_config.sample_rate_hertz = rate_hz
    return wanted


def pcm16(samples: Waveform) -> bytes:
    """Return samples in [-1, 1] as 16-bit little-endian; exact for 16-bit recordings. See `as_waveform` for errors."""
    return to_int16(as_waveform(samples)).tobytes()


def _everything() -> pb.RecognitionConfig:
    return pb.RecognitionConfig(
        features=pb.RecognitionFeatures(enable_word_time_offsets=True, enable_word_confidence=True)
    )
