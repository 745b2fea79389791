"""A streaming client: sends recordings in real time, or as fast as possible, and notes the arrival of results.

All times are in seconds since the stream began, on the event loop's clock.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

import grpc

from services.process.channels import Options, open_aio_channel
from services.process.keys import Keys
from sonorant.arrays import Waveform
from sonorant.audio.pcm import to_int16
from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

__all__ = [
    "ModelInfo",
    "RecognizedWord",
    "StreamEvent",
    "StreamedTranscript",
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


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that a recognizer serves: "name/version", and its audio's sample rate."""

    model: str
    sample_rate_hz: int


@dataclass(frozen=True, slots=True)
class RecognizedWord:
    """A word of a result, where it was spoken (seconds from the start of the audio), and its confidence in [0, 1]."""

    word: str
    start_s: float
    end_s: float
    confidence: float


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A result as it arrived.

    alternatives: transcripts with their confidence, best first; `text` and `words` are the best's.
    """

    arrival_s: float
    is_final: bool
    text: str
    words: tuple[RecognizedWord, ...]
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class StreamedTranscript:
    """The outcome of one stream.

    audio_s: length of the recording. audio_end_s: when its last sample was spoken (paced) or sent (not paced).
    final_s: when the final result arrived. events: all results, the final one last.
    """

    text: str
    words: tuple[RecognizedWord, ...]
    alternatives: tuple[tuple[str, float], ...]
    events: tuple[StreamEvent, ...]
    model: str
    audio_s: float
    audio_end_s: float
    final_s: float


def open_recognizer(address: str, options: Options = (), keys: Keys | None = None) -> grpc.aio.Channel:
    """Return a channel to the recognizers at HOST:PORT, whose calls fail over while one of them shuts down.

    keys: default, the process'. Fail-over delays the error by two seconds if no recognizer answers.
    """
    return open_aio_channel(address, (("grpc.service_config", _SERVICE_CONFIG), *options), keys)


def connect(channel: grpc.aio.Channel) -> "recognizer_pb2_grpc.RecognizerAsyncStub":
    """Return the methods of the recognizer at the other end of `channel`."""
    # The class is the same for both kinds of channel; its asynchronous form exists only in the type stubs.
    return cast("recognizer_pb2_grpc.RecognizerAsyncStub", recognizer_pb2_grpc.RecognizerStub(channel))


async def ask_model(stub: "recognizer_pb2_grpc.RecognizerAsyncStub", model: str = "") -> ModelInfo:
    """Return a recognizer's model; raises grpc.aio.AioRpcError."""
    response = await stub.Recognize(pb.RecognizeRequest(config=pb.RecognitionConfig(model=model)))
    return ModelInfo(response.metadata.model, response.metadata.sample_rate_hertz)


async def stream_recording(
    stub: "recognizer_pb2_grpc.RecognizerAsyncStub",
    samples: Waveform,
    rate_hz: int,
    config: pb.RecognitionConfig | None = None,
    *,
    chunk_ms: float = 100.0,
    paced: bool = False,
) -> StreamedTranscript:
    """Stream samples [samples] in [-1, 1] and return the transcript.

    config: model and features wanted; absent: the only model, one alternative, words with times and confidence.
    paced: chunk k is sent when its last sample would have been spoken, at (k + 1) * chunk_ms after the beginning.
    Raises grpc.aio.AioRpcError if the recognizer refuses the stream.
    """
    clock = asyncio.get_running_loop().time
    chunk = max(1, round(rate_hz * chunk_ms / 1000))
    audio = pcm16(samples)
    start = clock()
    audio_end_s = 0.0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal audio_end_s
        for at in range(0, len(samples), chunk):
            spoken_s = min(at + chunk, len(samples)) / rate_hz
            if paced:
                await asyncio.sleep(start + spoken_s - clock())
            audio_end_s = spoken_s if paced else clock() - start
            yield audio[2 * at : 2 * (at + chunk)]

    events: list[StreamEvent] = []
    model = ""
    async for response in stream_audio(stub, chunks(), rate_hz, config):
        events.append(read_event(response, clock() - start))
        model = response.metadata.model
    last = events[-1]
    audio_s = len(samples) / rate_hz
    return StreamedTranscript(
        last.text, last.words, last.alternatives, tuple(events), model, audio_s, audio_end_s, last.arrival_s
    )


async def stream_audio(
    stub: "recognizer_pb2_grpc.RecognizerAsyncStub",
    chunks: AsyncIterator[bytes],
    rate_hz: int,
    config: pb.RecognitionConfig | None = None,
) -> AsyncIterator[pb.StreamingRecognizeResponse]:
    """Stream 16-bit chunks, and yield responses, each as it arrives; the last one is final."""
    wanted = pb.RecognitionConfig()
    wanted.CopyFrom(config or _everything())
    wanted.explicit_decoding_config.encoding = pb.ExplicitDecodingConfig.LINEAR16
    wanted.explicit_decoding_config.sample_rate_hertz = rate_hz

    async def requests() -> AsyncIterator[pb.StreamingRecognizeRequest]:
        yield pb.StreamingRecognizeRequest(
            streaming_config=pb.StreamingRecognitionConfig(
                config=wanted, streaming_features=pb.StreamingRecognitionFeatures(interim_results=True)
            )
        )
        async for chunk in chunks:
            yield pb.StreamingRecognizeRequest(audio=chunk)

    async for response in stub.StreamingRecognize(requests()):
        yield response


def pcm16(samples: Waveform) -> bytes:
    """Return samples in [-1, 1] as 16-bit little-endian; exact for 16-bit recordings."""
    return to_int16(samples).tobytes()


def read_event(response: pb.StreamingRecognizeResponse, arrival_s: float) -> StreamEvent:
    """Parse a response that arrived at `arrival_s`."""
    result = response.results[0]
    best = result.alternatives[0]
    words = tuple(
        RecognizedWord(
            word.word,
            word.start_offset.ToMicroseconds() / 1e6,
            word.end_offset.ToMicroseconds() / 1e6,
            word.confidence,
        )
        for word in best.words
    )
    alternatives = tuple((alternative.transcript, alternative.confidence) for alternative in result.alternatives)
    return StreamEvent(arrival_s, result.is_final, best.transcript, words, alternatives)


def _everything() -> pb.RecognitionConfig:
    return pb.RecognitionConfig(
        features=pb.RecognitionFeatures(enable_word_time_offsets=True, enable_word_confidence=True)
    )
